"""Reads of recorded timelines: the traversals of stacks, and what happened to resources in them.

Called by the API alone; a constant number of statements for some hundred stacks at once.  Rows
that cannot be decoded are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.action import Status
from heat_convergence.db.tables import event, resource

_STACKS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class StackEvent:
    """The start or the end of a traversal."""

    stack_id: str
    version: int
    action: str
    status: Status
    created_at: datetime
    marks: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """A job as its row or the event of its end has it.

    Attributes:
        resource_id: None where the event's marks say it.
        ended_at: None for a job that is unfinished or was cancelled.
        requires: names of the resources that it needs; empty in an event.
    """

    resource_id: str | None
    stack_id: str
    version: int
    name: str
    resource_type: str
    action: str
    status: Status
    marks: str
    ended_at: datetime | None
    requires: tuple[str, ...] = ()


def list_stack_events(conn: Connection, stack_ids: Collection[str]) -> list[StackEvent]:
    """Return the starts and ends of the stacks' traversals that are still recorded."""
    c = event.c
    found = []
    for some in _chunks(stack_ids):
        query = (
            sa.select(c.stack_id, c.version, c.action, c.status, c.created_at, c.timeline)
            .where(c.stack_id.in_(some), c.physical_id == c.stack_id, c.version.is_not(None))
            .order_by(c.id)
        )
        found += [StackEvent(*row) for row in conn.execute(query) if is_readable(*row)]
    return found


def list_rows(conn: Connection, stack_ids: Collection[str]) -> list[RecordedJob]:
    """Return the jobs of the newest traversals, as far as the rows of resources have them."""
    c = resource.c
    columns = (
        *(c.id, c.stack_id, c.version, c.name, c.type, c.action, c.status, c.timeline),
        *(c.job_state, c.observed_at, c.requires),
    )
    found = []
    for some in _chunks(stack_ids):
        has_job = sa.or_(c.timeline.is_not(None), c.job_state.is_not(None))
        query = sa.select(*columns).where(c.stack_id.in_(some), has_job).order_by(c.id)
        found += [_from_row(row) for row in conn.execute(query) if is_readable(*row)]
    return found


def list_ended_jobs(
    conn: Connection, stack_ids: Collection[str], versions: Collection[int]
) -> list[RecordedJob]:
    """Return the jobs of some traversals that have ended, as their events have them."""
    c = event.c
    is_resource = sa.or_(c.physical_id.is_(None), c.physical_id != c.stack_id)
    columns = (
        *(c.stack_id, c.version, c.resource_name, c.resource_type, c.action, c.status),
        *(c.timeline, c.created_at),
    )
    found = []
    for some in _chunks(stack_ids):
        query = (
            sa.select(*columns)
            .where(c.stack_id.in_(some), c.version.in_(versions), c.timeline.is_not(None))
            .where(is_resource)
            .order_by(c.id)
        )
        found += [_from_event(row) for row in conn.execute(query) if is_readable(*row)]
    return found


def _from_event(row: Any) -> RecordedJob:
    return RecordedJob(
        resource_id=None,
        stack_id=row.stack_id,
        version=row.version,
        name=row.resource_name,
        resource_type=row.resource_type,
        action=row.action,
        status=row.status,
        marks=row.timeline,
        ended_at=row.created_at,
    )


def _from_row(row: Any) -> RecordedJob:
    return RecordedJob(
        resource_id=row.id,
        stack_id=row.stack_id,
        version=row.version,
        name=row.name,
        resource_type=row.type,
        action=row.action,
        status=row.status,
        marks=row.timeline or "",
        ended_at=row.observed_at if row.job_state is None else None,
        requires=tuple(row.requires),
    )


def _chunks(stack_ids: Collection[str]) -> Iterator[list[str]]:
    ids = sorted(stack_ids)
    return (
        ids[start : start + _STACKS_PER_STATEMENT]
        for start in range(0, len(ids), _STACKS_PER_STATEMENT)
    )
