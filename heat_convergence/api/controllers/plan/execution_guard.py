"""The execution of a plan, once at most and only if the plan still holds.

Called by the controllers that execute plans.  Everything that a plan was made from must be as it
was then; the comparison and the start of the action hold the locks of the stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.api.controllers.plan.drafts import definition_values
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.difference import (
    capture_definitions,
    capture_state,
    list_differences,
    list_own_differences,
)
from heat_convergence.convergence.plans.stored_plan import PlanStatus, StoredPlan
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks.goal.stack_builder import PreparedStack

Start = Callable[[Transaction], StartedTraversal]


@dataclass(frozen=True, slots=True)
class PreparedAction:
    """An action that is ready to start, and the context that it starts in.

    Attributes:
        locked_ids: ids of the stacks that it locks beside that of the plan.
    """

    start: Start
    delegation: AbstractContextManager[Any] = field(default_factory=nullcontext)
    locked_ids: tuple[str, ...] = ()


def guarded(plan: StoredPlan, start: Start, stack_ids: Iterable[str] = ()) -> Start:
    """Return a start that no action of others can have come before since the plan was compared.

    Args:
        plan: the plan.
        start: the start of its action.
        stack_ids: of a plan that concerns several stacks, the others.
    """
    return partial(_start_unchanged, plan=plan, start=start, stack_ids=(plan.stack_id, *stack_ids))


def start_once(
    tx: Transaction, plan: StoredPlan, now: datetime, prepared: PreparedAction
) -> StartedTraversal:
    """Mark the plan executed and start the action; if either fails, nothing is done."""
    for stack_id in sorted({plan.stack_id, *prepared.locked_ids}):
        tx.stacks.lock(stack_id)  # before the plan; of two executions one waits here
    if not tx.plans.mark_executed(plan.id, now):
        raise errors.PlanNotReady(f"Plan {plan.id} has been executed, deleted or has expired.")
    return prepared.start(tx)


def _start_unchanged(
    tx: Transaction, *, plan: StoredPlan, start: Start, stack_ids: Iterable[str]
) -> StartedTraversal:
    """Start the action if no other has changed the stacks since the plan was compared.

    Raises:
        PlanOutdated: another action has begun meanwhile.
    """
    for stack_id in sorted(stack_ids):
        stack = tx.stacks.lock(stack_id)
        if stack is None or stack.deleted_at is not None:
            raise errors.EntityNotFound("Stack", plan.stack_name)
        rows = tx.resources.lock_by_stack(stack.id)
        current = capture_state([stack, *_descendants(tx, stack)], rows, ())
        found = list_own_differences(plan.state, current)
        if found:
            raise errors.PlanOutdated(found)
    return start(tx)


def _descendants(tx: Transaction, stack: Stack) -> list[Stack]:
    """Return the nested stacks of a root; those of a nested stack were compared before."""
    return tx.tree.list_descendants(stack.id) if stack.owner_id is None else []


def require_ready(plan: StoredPlan, now: datetime) -> None:
    """Require a plan that can be executed.

    Raises:
        PlanNotReady: it was executed before, or has expired.
    """
    status = plan.status(now)
    if status is not PlanStatus.READY:
        raise errors.PlanNotReady(f"Plan {plan.id} is {status} and cannot be executed.")


def require_same_definitions(plan: StoredPlan, prepared: PreparedStack, prefix: str = "") -> None:
    """Raise ``PlanOutdated`` if what the template refers to has changed.

    Args:
        plan: the plan.
        prepared: the goal, made of what the plan has stored.
        prefix: of the names in the plan, for the second of two stacks.
    """
    before = {
        name.removeprefix(prefix): each
        for name, each in plan.state["definitions"].items()
        if ("/" in name) == bool(prefix)
    }
    current = capture_definitions(definition_values(prepared))
    found = list_differences({"definitions": before}, current)
    if found:
        raise errors.PlanOutdated(found)
