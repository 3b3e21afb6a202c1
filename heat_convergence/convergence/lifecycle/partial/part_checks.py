"""The checks, under the stack's lock, that a traversal may start from a part of its goal.

Called by ``traversal``.  Decides whether the rest of the stack is where the goal wants it, and
which contents of the replaced goal the rest still needs.
"""

from __future__ import annotations

from collections.abc import Collection

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.goal_part import (
    GoalPart,
    GoalPartOutdated,
    has_reached_goal,
)
from heat_convergence.convergence.ports.store import Transaction


def lock_rows(
    tx: Transaction, before: Stack, version: int, part: GoalPart | None
) -> tuple[list[Resource], int]:
    """Lock the rows of a stack to plan with, and give them its next version.

    Rows beside a part keep the version of the traversal that wrote them. Nobody gives them a job
    without the stack's lock.

    Args:
        tx: the transaction.
        before: the stack as it is stored, locked.
        version: the next version.
        part: the part of the goal; None for all of it.

    Returns:
        The rows to plan with, and how many others there are, which stay as they are.

    Raises:
        GoalPartOutdated: the others are not at rest at the version of the part.
    """
    if part is None:
        rows = tx.resources.lock_by_stack(before.id)
        tx.resources.set_versions(before.id, version)
        return rows, 0
    if before.version != part.version or not has_reached_goal(before):
        raise GoalPartOutdated("the stack has another goal")
    rows = tx.resources.lock_by_names(before.id, part.names)
    # Read under their locks: the part is planned by what the rows show.
    unsettled = tx.resources.find_unsettled(before.id, part.implementations)
    if not part.changing.issuperset(unsettled):
        raise GoalPartOutdated("not all other resources are at rest")
    others = tx.resources.count_by_stack(before.id) - len(rows)
    if not part.admits_others(others):
        raise GoalPartOutdated(f"the stack has {others} other resources")
    tx.resources.set_versions_of([row.id for row in rows], version)
    return rows, others


def list_hashes_of_others(
    tx: Transaction, before: Stack, part: GoalPart | None
) -> Collection[str]:
    """Return the hashes of the contents that definitions beside the part may refer to.

    Args:
        tx: the transaction.
        before: the stack with the goal that is replaced.
        part: the part of the goal; None for all of it.

    Raises:
        GoalPartOutdated: the replaced goal is lost, or refers to too many.
    """
    if part is None:
        return ()
    replaced = tx.goals.get_row(before.goal_id)
    if replaced is None or not part.admits_contents(len(replaced.content_hashes)):
        raise GoalPartOutdated("the contents of the replaced goal are lost or too many")
    return replaced.content_hashes
