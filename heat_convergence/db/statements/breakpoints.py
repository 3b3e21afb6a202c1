"""Statements about breakpoints in trees: what waits, and who is above it.

Called by ``db.store`` and the API.  Each is one statement, however deep the tree; the
database climbs from what waits, which is little, and visits nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.breakpoint_location import BreakpointLocation
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.statements.resources import from_narrow_row, get_narrow_columns
from heat_convergence.db.tables import resource, stack

MAX_LOCATIONS = 1000  # of what waits, for an answer


def find_breakpoint_locations(
    connection: Connection, stacks: Collection[Stack]
) -> list[BreakpointLocation]:
    """As ``ports.Transaction.places``; no statement if none of them is in progress."""
    asked = {one.id for one in stacks if one.in_progress}
    if not asked:
        return []
    rows = connection.execute(_climb([one for one in stacks if one.id in asked]))
    found, path, last = [], [""], None
    for row in rows:
        path = [row.name] if row.held_id != last else [row.name, *path]
        last = row.held_id
        if row.at_id in asked:
            found.append(BreakpointLocation(row.at_id, tuple(path), row.hook or ""))
    return sorted(found, key=lambda place: (place.stack_id, place.path))


def _climb(stacks: Sequence[Stack]) -> sa.Select[tuple[str, str, str, str, int]]:
    """For each HELD row of the stacks' trees, a row for its own stack and each above."""
    held = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.name, resource.c.hook)
        .where(
            resource.c.project_id.in_({one.project_id for one in stacks}),
            resource.c.job_state == JobState.AT_BREAKPOINT,
            resource.c.root_id.in_({one.tree_id for one in stacks}),
        )
        .order_by(resource.c.id)
        .limit(MAX_LOCATIONS)
        .subquery()
    )
    up = sa.select(
        held.c.id.label("held_id"),
        held.c.stack_id.label("at_id"),
        held.c.name.label("name"),
        held.c.hook.label("hook"),
        sa.literal(0).label("level"),
    ).cte("up", recursive=True)
    below = stack.alias("below")
    up = up.union_all(
        sa.select(
            up.c.held_id, below.c.owner_id, below.c.parent_resource, up.c.hook, up.c.level + 1
        ).where(
            below.c.id == up.c.at_id,
            below.c.owner_id.is_not(None),
            below.c.status == Status.IN_PROGRESS,
        )
    )
    return sa.select(up.c.held_id, up.c.at_id, up.c.name, up.c.hook, up.c.level).order_by(
        up.c.held_id, up.c.level
    )


def list_ancestor_resources(connection: Connection, stack_id: str) -> list[Resource]:
    """As ``ports.Transaction.list_ancestor_resources``."""
    head = sa.select(
        stack.c.owner_id.label("above"),
        stack.c.owner_resource_id.label("owner"),
        sa.literal(0).label("level"),
    ).where(stack.c.id == stack_id)
    up = head.cte("up", recursive=True)
    above = stack.alias("above")
    up = up.union_all(
        sa.select(above.c.owner_id, above.c.owner_resource_id, up.c.level + 1).where(
            above.c.id == up.c.above
        )
    )
    query = sa.select(*get_narrow_columns()).join(up, up.c.owner == resource.c.id)
    rows = connection.execute(query.order_by(up.c.level))
    return [from_narrow_row(row) for row in rows]
