"""Reads of drift for the API: of resources in lists, of a stack's tree, and of a project.

Called by the API alone; one statement each, whatever the number of resources. An observation that
was made before the last action on its resource says nothing and is not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    DriftStatus,
    ResourceObservation,
)
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import observation_rows
from heat_convergence.db.drift.descendant_stacks import descendant_stacks
from heat_convergence.db.statements.readable_rows import read_each
from heat_convergence.db.tables import observation, resource, stack, watch_group

_OF_GROUP = sa.and_(
    watch_group.c.project_id == observation.c.project_id,
    watch_group.c.implementation == observation.c.implementation,
)
# NULL equals NULL here: a resource that no action has changed since its creation.
VALID = sa.or_(
    observation.c.resource_updated_at == resource.c.updated_at,
    sa.and_(observation.c.resource_updated_at.is_(None), resource.c.updated_at.is_(None)),
)
"""The condition under which an observation says something about its resource."""

RESOURCES_WITH_DRIFT = resource.outerjoin(
    observation, sa.and_(observation.c.resource_id == resource.c.id, VALID)
).outerjoin(watch_group, _OF_GROUP)
"""Resources with their valid observations, to select ``DRIFT_COLUMNS`` from."""

OBSERVATIONS = observation.join(
    resource, sa.and_(resource.c.id == observation.c.resource_id, VALID)
).outerjoin(watch_group, _OF_GROUP)
"""Valid observations, to select ``OBSERVED_AT`` from."""

# The time of the group is not that of a resource which its last read has not shown.
OBSERVED_AT = sa.case(
    (
        sa.and_(
            observation.c.status != DriftStatus.UNKNOWN,
            watch_group.c.observed_at > observation.c.observed_at,
        ),
        watch_group.c.observed_at,
    ),
    else_=observation.c.observed_at,
)
"""The time of the last read that has shown a resource."""

DRIFT_COLUMNS = (
    observation.c.status.label("drift_status"),
    observation.c.observed_at.label("drift_observed_at"),
    watch_group.c.observed_at.label("group_observed_at"),
    resource.c.observed_at.label("action_observed_at"),
)


@dataclass(frozen=True, slots=True)
class ResourceDrift:
    """The drift of a resource, and when that was observed.

    Attributes:
        observed_at: None for a resource that was never observed.
    """

    status: DriftStatus = DriftStatus.NOT_CHECKED
    observed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DriftEntry:
    """A resource with its observation, as the drift of a stack or project lists it."""

    observation: ResourceObservation
    drift: ResourceDrift
    resource_name: str
    resource_type: str
    physical_id: str
    stack_name: str


@dataclass(frozen=True, slots=True)
class DriftPage:
    """The page of a project's observations to list.

    Attributes:
        statuses: Those that are shown.
        marker: The id of the resource after which the page begins.
    """

    statuses: frozenset[DriftStatus]
    limit: int | None = None
    marker: str | None = None


def read_drift(row: Any) -> ResourceDrift:
    """Return the drift of a row with ``DRIFT_COLUMNS``; that of a damaged one is not known."""
    if not is_readable(*(getattr(row, column.name) for column in DRIFT_COLUMNS)):
        return ResourceDrift(DriftStatus.UNKNOWN)
    status = row.drift_status
    if status is None:
        return ResourceDrift(observed_at=row.action_observed_at)
    times = [row.drift_observed_at]
    # The time of the group is not that of a resource which its last read has not shown.
    if status is not DriftStatus.UNKNOWN and row.group_observed_at is not None:
        times.append(row.group_observed_at)
    return ResourceDrift(status, max(times))


def count_by_status(conn: Connection, of_stack: Stack) -> Mapping[DriftStatus, int]:
    """Return how many resources of the stack, and of those below it, have each status."""
    query = _build_count(is_root=of_stack.owner_id is None)
    rows = conn.execute(query, {"stack": of_stack.id})
    return {DriftStatus(status): number for status, number in rows if is_readable(status)}


@cache
def _build_count(*, is_root: bool) -> sa.Select[Any]:
    """Build the count of observations by status below the stack with the id ``stack``."""
    tree = _in_tree(sa.bindparam("stack", type_=stack.c.id.type), observation.c.stack_id, is_root)
    return (
        sa.select(observation.c.status, sa.func.count())
        .join(resource, sa.and_(resource.c.id == observation.c.resource_id, VALID))
        .where(tree)
        .group_by(observation.c.status)
    )


def summarize(counts: Mapping[DriftStatus, int]) -> DriftStatus:
    """Return the status of a stack from those of its resources.

    A difference counts before a resource that cannot be read, and that before the others.
    """
    if any(counts.get(status) for status in DRIFTED):
        return DriftStatus.MODIFIED
    if counts.get(DriftStatus.UNKNOWN):
        return DriftStatus.UNKNOWN
    return DriftStatus.IN_SYNC if counts.get(DriftStatus.IN_SYNC) else DriftStatus.NOT_CHECKED


def list_by_tree(
    conn: Connection, of_stack: Stack, statuses: Collection[DriftStatus]
) -> list[DriftEntry]:
    """Return the observations of a stack, and of those below it, by stack and name."""
    query = _entries(statuses).where(of_tree(of_stack, observation.c.stack_id))
    return _read_entries(conn, query.order_by(stack.c.depth, stack.c.id, resource.c.name))


def list_by_project(
    conn: Connection, project_id: str, page: DriftPage
) -> tuple[list[DriftEntry], str | None]:
    """Return a page of a project's observations, by the id of the resource.

    Returns:
        The entries, and the marker of the next page; None if the page is not full.
    """
    query = _entries(page.statuses).where(observation.c.project_id == project_id)
    if page.marker is not None:
        query = query.where(observation.c.resource_id > page.marker)
    rows = conn.execute(query.order_by(observation.c.resource_id).limit(page.limit)).all()
    # Damaged rows count, too: a page that they make shorter is not the last one.
    is_full = bool(rows) and len(rows) == page.limit
    return read_each(rows, _entry_of), rows[-1].resource_id if is_full else None


def _entries(statuses: Collection[DriftStatus]) -> sa.Select[Any]:
    return (
        sa.select(
            *observation_rows.COLUMNS,
            *DRIFT_COLUMNS,
            resource.c.name.label("resource_name"),
            resource.c.type.label("resource_type"),
            resource.c.physical_id,
            stack.c.name.label("stack_name"),
        )
        .select_from(RESOURCES_WITH_DRIFT.join(stack, stack.c.id == resource.c.stack_id))
        .where(observation.c.status.in_(sorted(statuses)))
    )


def _read_entries(conn: Connection, query: sa.Select[Any]) -> list[DriftEntry]:
    return read_each(conn.execute(query), _entry_of)


def _entry_of(row: Any) -> DriftEntry:
    return DriftEntry(
        observation_rows.from_row(row[: len(observation_rows.COLUMNS)]),
        read_drift(row),
        row.resource_name,
        row.resource_type,
        row.physical_id or "",
        row.stack_name,
    )


def of_tree(of_stack: Stack, stack_id: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has the id of the stack, or of one below it."""
    return _in_tree(of_stack.id, stack_id, of_stack.owner_id is None)


def _in_tree(head: Any, stack_id: sa.ColumnElement[Any], is_root: bool) -> sa.ColumnElement[bool]:
    if not is_root:
        tree = descendant_stacks(stack.c.id == head)
        return stack_id.in_(sa.select(tree.c.id))
    descendants = sa.select(stack.c.id).where(stack.c.root_id == head)
    return sa.or_(stack_id == head, stack_id.in_(descendants))
