"""Reads across the stacks of a tree in the database.

Each method is one statement, however deep the tree: the database climbs from the rows
found first, which are few, and visits no others.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import BreakpointLocation, Stack
from heat_convergence.convergence.ports.tree import TreeRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import stack_rows
from heat_convergence.db.statements.resource_rows import NARROW_COLUMNS, from_narrow_row
from heat_convergence.db.tables import resource, stack

MAX_LOCATIONS = 1000  # of resources at breakpoints, in one answer


class SqlTreeRepository(SqlRepository, TreeRepository):
    """Trees of stacks on a database connection."""

    def list_descendants(self, root_id: str) -> list[Stack]:
        """Return the existing nested stacks of the tree, the deepest first."""
        statement = (
            sa.select(*stack_rows.COLUMNS)
            .where(stack.c.root_id == root_id, stack.c.id != root_id, stack.c.deleted_at.is_(None))
            .order_by(stack.c.depth.desc(), stack.c.id)
        )
        return [stack_rows.from_row(row) for row in self._connection.execute(statement)]

    def list_ancestor_resources(self, stack_id: str) -> list[Resource]:
        """Return the resources that stand for the stack and its ancestors in their parents."""
        head = sa.select(
            stack.c.owner_id.label("parent_id"),
            stack.c.owner_resource_id.label("owner"),
            sa.literal(0).label("level"),
        ).where(stack.c.id == stack_id)
        up = head.cte("up", recursive=True)
        parent = stack.alias("parent")
        up = up.union_all(
            sa.select(parent.c.owner_id, parent.c.owner_resource_id, up.c.level + 1).where(
                parent.c.id == up.c.parent_id
            )
        )
        query = sa.select(*NARROW_COLUMNS).join(up, up.c.owner == resource.c.id)
        rows = self._connection.execute(query.order_by(up.c.level))
        return [from_narrow_row(row) for row in rows]

    def count_resources(self, root_id: str) -> int:
        """Return how many resources the stacks of the tree want present."""
        unwanted = sa.select(_unwanted_stacks(root_id).c.id)
        present = sa.select(sa.func.count()).where(
            resource.c.root_id == root_id,
            resource.c.desired == DesiredState.PRESENT,
            resource.c.stack_id.not_in(unwanted),
        )
        return int(self._connection.scalar(present) or 0)

    def find_breakpoint_locations(self, stacks: Collection[Stack]) -> list[BreakpointLocation]:
        """Return where ``stacks`` wait; no statement if none of them is in progress."""
        requested = {one.id: one for one in stacks if one.in_progress}
        if not requested:
            return []
        trees = {one.tree_id for one in requested.values()}
        projects = {one.project_id for one in requested.values()}
        rows = self._connection.execute(
            _climb(), {"projects": sorted(projects), "trees": sorted(trees)}
        )
        found, path, last = [], [""], None
        for row in rows:
            path = [row.name] if row.resource_id != last else [row.name, *path]
            last = row.resource_id
            if row.at_id in requested:
                found.append(BreakpointLocation(row.at_id, tuple(path), row.hook or ""))
        return sorted(found, key=lambda location: (location.stack_id, location.path))


def _unwanted_stacks(root_id: str) -> sa.CTE:
    """Build the ids of the tree's nested stacks that are to be deleted, or whose ancestor is."""
    head = (
        sa.select(stack.c.id)
        .join(resource, resource.c.id == stack.c.owner_resource_id)
        .where(stack.c.root_id == root_id, resource.c.desired != DesiredState.PRESENT)
    )
    unwanted = head.cte("unwanted", recursive=True)
    return unwanted.union(sa.select(stack.c.id).where(stack.c.owner_id == unwanted.c.id))


@cache
def _climb() -> sa.Select[tuple[str, str, str, str, int]]:
    """Build a row for the stack of each resource AT_BREAKPOINT, and for each ancestor.

    Parameters are ``projects`` and ``trees``, the ids of root stacks.
    """
    waiting = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.name, resource.c.hook)
        .where(
            resource.c.project_id.in_(sa.bindparam("projects", expanding=True)),
            resource.c.job_state == JobState.AT_BREAKPOINT,
            resource.c.root_id.in_(sa.bindparam("trees", expanding=True)),
        )
        .order_by(resource.c.id)
        .limit(MAX_LOCATIONS)
        .subquery()
    )
    up = sa.select(
        waiting.c.id.label("resource_id"),
        waiting.c.stack_id.label("at_id"),
        waiting.c.name.label("name"),
        waiting.c.hook.label("hook"),
        sa.literal(0).label("level"),
    ).cte("up", recursive=True)
    nested = stack.alias("nested")
    up = up.union_all(
        sa.select(
            up.c.resource_id,
            nested.c.owner_id,
            nested.c.parent_resource,
            up.c.hook,
            up.c.level + 1,
        ).where(
            nested.c.id == up.c.at_id,
            nested.c.owner_id.is_not(None),
            nested.c.status == Status.IN_PROGRESS,
        )
    )
    return sa.select(up.c.resource_id, up.c.at_id, up.c.name, up.c.hook, up.c.level).order_by(
        up.c.resource_id, up.c.level
    )
