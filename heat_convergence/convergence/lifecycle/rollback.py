"""The way back: a traversal to the last goal that was reached.

Called by the observer when a job failed for good or time ran out, and by the API
for a cancelled update; in the transaction that found it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from heat_convergence.common.errors import RowsContradict
from heat_convergence.convergence.lifecycle import completion, traversal
from heat_convergence.convergence.lifecycle.progress import ProgressResult
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.evaluation.resource_definition import RETAIN

RETAIN_CONTENTS = "given_back"  # in a definition: what is in the stack behind outlives it

DefinitionRebuilder = Callable[[Transaction, Stack, Goal], Mapping[str, DesiredResource]]
"""A stored goal → its evaluated definitions, as the API made them at first."""


def begin_rollback(
    tx: Transaction,
    stack: Stack,
    reason: str | None,
    context: TraversalContext,
    rebuild: DefinitionRebuilder,
) -> ProgressResult:
    """Starts ROLLBACK; a create goes back to nothing.  ``reason`` is told of as the
    failure of what was under way; None: nothing failed."""
    if reason is not None:
        tx.events.insert(
            [completion.stack_event(stack, Status.FAILED, reason, context.now, context.ids)]
        )
    if stack.action is Action.ADOPT:
        retain_adopted(tx, tx.resources.lock_by_stack(stack.id))
    goal: Goal | None = None
    wanted: Mapping[str, DesiredResource] = {}
    if stack.complete_goal_id is not None:
        try:
            stored, wanted = _goal_back(tx, stack, stack.complete_goal_id, rebuild)
        except RowsContradict as error:  # else everything would be deleted
            cause = f"Stack {stack.action} cannot be rolled back: {error}"
            return ProgressResult(
                stack, completion.fail_traversal(tx, stack, cause, context.now, context.ids)
            )
        goal = replace(stored, id=context.ids())
    begun = traversal.start_traversal(
        tx,
        stack_id=stack.id,
        action=Action.ROLLBACK,
        initiator=Initiator.SERVICE,
        goal=goal,
        desired_resources=wanted,
        context=context,
    )
    return ProgressResult(begun.stack, begun.outgoing_messages)


def _goal_back(
    tx: Transaction, stack: Stack, goal_id: str, rebuild: DefinitionRebuilder
) -> tuple[Goal, Mapping[str, DesiredResource]]:
    stored = tx.goals.get(goal_id)
    if stored is None:
        raise RowsContradict(f"Stack {stack.id} has no goal {goal_id}")
    return stored, rebuild(tx, stack, stored)


def retain_adopted(tx: Transaction, rows: Sequence[Resource]) -> None:
    """What was there before an adoption that failed outlives it.  A stack that was made
    behind a row goes, when the row's turn comes, and gives back in turn: here, none
    below may be locked."""
    made = [
        row for row in rows if NESTED_STACK_KEY in row.definition and row.physical_id is not None
    ]
    _say(tx, made, {RETAIN_CONTENTS: True})
    retain(tx, [row for row in rows if row not in made])


def retain(tx: Transaction, rows: Iterable[Resource]) -> None:
    """What stands behind the rows outlives them, as the user says."""
    _say(tx, rows, {"deletion_policy": RETAIN})


def _say(tx: Transaction, rows: Iterable[Resource], more: Mapping[str, object]) -> None:
    tx.resources.update_each(
        {
            row.id: {"definition": {**row.definition, **more}, "sensitive": row.sensitive}
            for row in rows
        }
    )
