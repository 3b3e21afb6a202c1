"""Reads for an administrator's overview: projects, stacks and services that need attention.

Called by the API alone. Each is one statement over an index, with a limit; stacks are counted in
one pass over the rows that are not deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.tables import drift_breaker, resource, stack, watch_group


@dataclass(slots=True)
class ProjectWork:
    """Numbers of a project.

    Attributes:
        stacks: Root stacks that are not deleted.
        in_progress: Those of them that are in progress.
        failed: Those of them that have failed.
        jobs: Resources with a job, in nested stacks too.
    """

    project_id: str
    stacks: int = 0
    in_progress: int = 0
    failed: int = 0
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class StackName:
    """A stack as lists of other things name it."""

    name: str
    project_id: str


@dataclass(frozen=True, slots=True)
class FailedStack:
    """A root stack that has failed."""

    id: str
    name: str
    project_id: str
    action: Action
    reason: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class UnreadGroup:
    """Resources of one type in a project that the watch cannot read."""

    project_id: str
    resource_type: str
    reason: str
    observed_at: datetime | None
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class ListedBreaker:
    """A suspected mass loss of any project."""

    id: str
    project_id: str
    resource_type: str
    region: str
    lost: int
    total: int
    since: datetime | None


def count_by_project(connection: Connection) -> list[ProjectWork]:
    """Return the projects that have stacks, those with the most jobs first."""
    number = sa.func.count()
    c, r = stack.c, resource.c
    roots = c.deleted_at.is_(None) & c.owner_id.is_(None)
    stacks = sa.select(c.project_id, c.status, number).where(roots)
    jobs = sa.select(r.project_id, number).where(r.job_state.is_not(None)).group_by(r.project_id)
    found: dict[str, ProjectWork] = {}
    for project_id, status, count in connection.execute(stacks.group_by(c.project_id, c.status)):
        project = found.setdefault(project_id, ProjectWork(project_id))
        project.stacks += count
        project.in_progress += count if status is Status.IN_PROGRESS else 0
        project.failed += count if status is Status.FAILED else 0
    for project_id, count in connection.execute(jobs):
        found.setdefault(project_id, ProjectWork(project_id)).jobs += count
    return sorted(found.values(), key=lambda each: (-each.jobs, -each.stacks, each.project_id))


def list_failed_stacks(connection: Connection, limit: int) -> list[FailedStack]:
    """Return the root stacks that have failed, the last first."""
    c = stack.c
    statement = (
        sa.select(c.id, c.name, c.project_id, c.action, c.status_reason, c.updated_at)
        .where(c.status == Status.FAILED, c.deleted_at.is_(None), c.owner_id.is_(None))
        .order_by(c.updated_at.desc(), c.id.desc())
        .limit(limit)
    )
    return [
        FailedStack(
            row.id,
            row.name,
            row.project_id,
            row.action,
            row.status_reason or "",
            _readable(row.updated_at),
        )
        for row in connection.execute(statement)
        if is_readable(row.action)
    ]


def list_unread_groups(connection: Connection, limit: int) -> list[UnreadGroup]:
    """Return what the watch could not read when it last tried."""
    c = watch_group.c
    statement = (
        sa.select(c.project_id, c.implementation, c.reason, c.observed_at, c.next_at)
        .where(c.reason != "")
        .order_by(c.project_id, c.implementation)
        .limit(limit)
    )
    return [
        UnreadGroup(
            row.project_id,
            row.implementation,
            row.reason,
            _readable(row.observed_at),
            _readable(row.next_at),
        )
        for row in connection.execute(statement)
    ]


def list_open_breakers(connection: Connection, limit: int) -> list[ListedBreaker]:
    """Return the mass losses of all projects that nobody has confirmed."""
    c = drift_breaker.c
    statement = (
        sa.select(c.id, c.project_id, c.implementation, c.region, c.lost, c.total, c.since)
        .where(sa.not_(c.confirmed))
        .order_by(c.id)
        .limit(limit)
    )
    return [
        ListedBreaker(
            row.id,
            row.project_id,
            row.implementation,
            row.region,
            row.lost,
            row.total,
            _readable(row.since),
        )
        for row in connection.execute(statement)
    ]


def stack_names(connection: Connection, ids: Collection[str]) -> dict[str, StackName]:
    """Return the stacks with these ids."""
    c = stack.c
    statement = sa.select(c.id, c.name, c.project_id).where(c.id.in_(ids))
    return {row.id: StackName(row.name, row.project_id) for row in connection.execute(statement)}


def _readable(value: Any) -> Any:
    return value if is_readable(value) else None
