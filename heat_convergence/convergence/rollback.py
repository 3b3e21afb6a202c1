"""The way back: a traversal to the last goal that was reached.

Called by the observer when a job failed for good or time ran out, and by the API
for a cancelled update; in the transaction that found it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from heat_convergence.common.errors import RowsContradict
from heat_convergence.convergence import ending, traversal
from heat_convergence.convergence.advance import Advanced
from heat_convergence.convergence.model import Action, Goal, Resource, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Asker, Means
from heat_convergence.convergence.wanted import NESTED, Wanted
from heat_convergence.template.definition import RETAIN

GIVEN_BACK = "given_back"  # in a definition: what is in the stack behind outlives it

Rebuild = Callable[[Transaction, Stack, Goal], Mapping[str, Wanted]]
"""A stored goal → its evaluated definitions, as the API made them at first."""


def begin(
    tx: Transaction, stack: Stack, reason: str | None, means: Means, rebuild: Rebuild
) -> Advanced:
    """Starts ROLLBACK; a create goes back to nothing.  ``reason`` is told of as the
    failure of what was under way; None: nothing failed."""
    if reason is not None:
        tx.insert_events(
            [ending.stack_event(stack, Status.FAILED, reason, means.now, means.ids)]
        )
    if stack.action is Action.ADOPT:
        give_back(tx, tx.lock_stack_resources(stack.id))
    goal: Goal | None = None
    wanted: Mapping[str, Wanted] = {}
    if stack.complete_goal_id is not None:
        try:
            stored, wanted = _goal_back(tx, stack, stack.complete_goal_id, rebuild)
        except RowsContradict as error:  # else everything would be deleted
            cause = f"Stack {stack.action} cannot be rolled back: {error}"
            return Advanced(stack, ending.fail(tx, stack, cause, means.now, means.ids))
        goal = replace(stored, id=means.ids())
    begun = traversal.start(
        tx,
        stack_id=stack.id,
        action=Action.ROLLBACK,
        asker=Asker.SERVICE,
        goal=goal,
        wanted=wanted,
        means=means,
    )
    return Advanced(begun.stack, begun.postings)


def _goal_back(
    tx: Transaction, stack: Stack, goal_id: str, rebuild: Rebuild
) -> tuple[Goal, Mapping[str, Wanted]]:
    stored = tx.get_goal(goal_id)
    if stored is None:
        raise RowsContradict(f"Stack {stack.id} has no goal {goal_id}")
    return stored, rebuild(tx, stack, stored)


def give_back(tx: Transaction, rows: Sequence[Resource]) -> None:
    """What was there before an adoption that failed outlives it.  A stack that was made
    behind a row goes, when the row's turn comes, and gives back in turn: here, none
    below may be locked."""
    made = [row for row in rows if NESTED in row.definition and row.physical_id is not None]
    _say(tx, made, {GIVEN_BACK: True})
    let_go(tx, [row for row in rows if row not in made])


def let_go(tx: Transaction, rows: Iterable[Resource]) -> None:
    """What stands behind the rows outlives them, as the user says."""
    _say(tx, rows, {"deletion_policy": RETAIN})


def _say(tx: Transaction, rows: Iterable[Resource], more: Mapping[str, object]) -> None:
    tx.save_resources(
        {
            row.id: {"definition": {**row.definition, **more}, "sensitive": row.sensitive}
            for row in rows
        }
    )
