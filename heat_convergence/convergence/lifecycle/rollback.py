"""Rollback: a traversal to the goal before the one that was not reached.

Called by the observer when a job has failed for good or the deadline has passed, and by
the API for a cancelled update, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from heat_convergence.common.evaluation.deferred_evaluation import evaluate_outside
from heat_convergence.common.failures import RowsContradict
from heat_convergence.convergence.lifecycle import completion, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalRequest
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.evaluation.resource_definition import RETAIN

RETAIN_CONTENTS = "given_back"
"""Key in a definition: the resources of the nested stack outlive it."""

DesiredEvaluation = Callable[[], Mapping[str, DesiredResource]]
DefinitionRebuilder = Callable[[Transaction, Stack, Goal], DesiredEvaluation]
"""A stored goal → a function that evaluates its desired resources, as they were at first.

The function is called outside of the transaction that has read what it takes.
"""


def begin_rollback(
    tx: Transaction,
    stack: Stack,
    reason: str | None,
    context: TraversalContext,
    rebuild: DefinitionRebuilder,
) -> ProgressResult:
    """Start ROLLBACK; a create is rolled back to nothing.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        reason: why the action has failed; None if it has not.
        context: the time, the ids and the settings.
        rebuild: builds the desired resources of the goal before.
    """
    if reason is not None:
        tx.events.insert([context.stack_event(stack, Status.FAILED, reason)])
    if stack.action is Action.ADOPT:
        retain_adopted(tx, tx.resources.lock_by_stack(stack.id))
    goal: Goal | None = None
    desired_resources: Mapping[str, DesiredResource] = {}
    if stack.complete_goal_id is not None:
        try:
            stored, desired_resources = _rebuild_goal(tx, stack, stack.complete_goal_id, rebuild)
        except RowsContradict as error:  # without a goal everything would be deleted
            cause = f"Stack {stack.action} cannot be rolled back: {error}"
            return ProgressResult(stack, completion.fail_traversal(tx, stack, cause, context))
        goal = replace(stored, id=context.ids())
    request = TraversalRequest(
        stack.id,
        Action.ROLLBACK,
        goal=goal,
        desired_resources=desired_resources,
        initiator=Initiator.SERVICE,
    )
    started = traversal.start_traversal(tx, request, context)
    return ProgressResult(
        started.stack, started.outgoing_messages, waits_for_bus=started.waits_for_bus
    )


def refuse_rollback(
    tx: Transaction, stack: Stack, reason: str, context: TraversalContext
) -> ProgressResult:
    """Fail a stack whose rollback has raised (RULE 11)."""
    cause = f"{reason}; Stack {stack.action} cannot be rolled back"
    return ProgressResult(stack, completion.fail_traversal(tx, stack, cause, context))


def _rebuild_goal(
    tx: Transaction, stack: Stack, goal_id: str, rebuild: DefinitionRebuilder
) -> tuple[Goal, Mapping[str, DesiredResource]]:
    stored = tx.goals.get(goal_id)
    if stored is None:
        raise RowsContradict(f"Stack {stack.id} has no goal {goal_id}")
    inputs = (stack.id, stack.name, stack.project_id, stack.depth, stored)
    evaluate = rebuild(tx, stack, stored)
    return stored, evaluate_outside(("rollback", stack.id), inputs, evaluate)


def retain_adopted(tx: Transaction, rows: Sequence[Resource]) -> None:
    """Retain what existed before an adoption that has failed.

    A nested stack that the adoption created is deleted when its resource's turn comes,
    and retains its own resources then: no nested stack may be locked here.
    """
    created = [
        row
        for row in rows
        if NESTED_STACK_KEY in row.desired.definition and row.physical.id is not None
    ]
    _extend_definitions(tx, created, {RETAIN_CONTENTS: True})
    retain(tx, [row for row in rows if row not in created])


def retain(tx: Transaction, rows: Iterable[Resource]) -> None:
    """Have the physical resources of the rows outlive them."""
    _extend_definitions(tx, rows, {"deletion_policy": RETAIN})


def _extend_definitions(
    tx: Transaction, rows: Iterable[Resource], more: Mapping[str, object]
) -> None:
    tx.resources.update_each(
        {
            row.id: {
                "definition": {**row.desired.definition, **more},
                "sensitive": row.desired.sensitive,
            }
            for row in rows
        }
    )
