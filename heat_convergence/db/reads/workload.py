"""Reads about the work of the whole service: its jobs and its stacks.

Called by the observers' metrics and by ``heat-convergence-manage``; reads through indexes on the
state of jobs, never the rows of idle resources.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, Verb
from heat_convergence.db.statements.readable_rows import select_earliest
from heat_convergence.db.tables import resource, service, stack

READY_STATES = (JobState.SCHEDULABLE, JobState.POSTED)


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """Numbers of jobs and stacks.

    Attributes:
        jobs: Number of jobs by name of their state and resource type.
        stacks: Number of stacks that are not deleted, by action and status.
        oldest_ready_at: Time since which the oldest job waits that could be claimed.
    """

    jobs: Mapping[tuple[str, str], int]
    stacks: Mapping[tuple[str, str], int]
    oldest_ready_at: datetime | None


def summarize(connection: Connection) -> WorkloadSummary:
    """Count jobs and stacks, without those of unreadable states, in three statements."""
    number = sa.func.count()
    jobs = (
        sa.select(resource.c.job_state, resource.c.type, number)
        .where(resource.c.job_state.is_not(None))
        .group_by(resource.c.job_state, resource.c.type)
    )
    stacks = (
        sa.select(stack.c.action, stack.c.status, number)
        .where(stack.c.deleted_at.is_(None))
        .group_by(stack.c.action, stack.c.status)
    )
    oldest = select_earliest(resource.c.posted_at).where(resource.c.job_state.in_(READY_STATES))
    return WorkloadSummary(
        jobs={
            (state.name, name): count
            for state, name, count in connection.execute(jobs)
            if is_readable(state)
        },
        stacks={
            (action.value, status.value): count
            for action, status, count in connection.execute(stacks)
            if is_readable(action, status)
        },
        oldest_ready_at=connection.scalar(oldest),
    )


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job as users and operators see it.

    Attributes:
        action: The last action on the resource; the job may not have started its own.
        since: Time of the claim of a RUNNING job, else that at which the job was posted.
        started_at: Time of the start of the last action.
        worker_id: The worker that has the lease; None if there is none.
        worker_host: Its host; None if it is not in the list of services any more.
        observe_at: Time of the next observation.
    """

    resource_id: str
    stack_id: str
    name: str
    resource_type: str
    verb: Verb | None
    state: JobState
    action: Action | None
    status: Status | None
    status_reason: str
    since: datetime | None
    started_at: datetime | None
    hook: str | None
    worker_id: str | None
    worker_host: str | None
    lease_expires_at: datetime | None
    observe_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The jobs that are listed.

    Attributes:
        states: Their states.
        stack_ids: The stacks whose jobs they are; None for all.
        resource_id: The only resource; None for all.
    """

    states: Collection[JobState]
    stack_ids: Collection[str] | None = None
    resource_id: str | None = None


def list_jobs(connection: Connection, chosen: JobFilter, limit: int) -> list[ListedJob]:
    """Return at most ``limit`` jobs, those posted first first, in one statement."""
    c = resource.c
    statement = (
        sa.select(
            *(c.id, c.stack_id, c.name, c.type, c.job, c.job_state, c.posted_at, c.hook),
            *(c.action, c.status, c.status_reason, c.action_started_at),
            *(c.lease_owner, c.lease_expires_at, c.observe_at),
            service.c.hostname,
        )
        .outerjoin(service, service.c.id == c.lease_owner)
        .where(c.job_state.in_(chosen.states))
        .order_by(c.posted_at, c.id)
        .limit(limit)
    )
    if chosen.stack_ids is not None:
        statement = statement.where(c.stack_id.in_(chosen.stack_ids))
    if chosen.resource_id is not None:
        statement = statement.where(c.id == chosen.resource_id)
    return [_listed_job(row) for row in connection.execute(statement)]


def _listed_job(row: Any) -> ListedJob:
    runs = row.job_state is JobState.RUNNING
    return ListedJob(
        resource_id=row.id,
        stack_id=row.stack_id,
        name=row.name,
        resource_type=row.type,
        verb=_readable(row.job),
        state=row.job_state,
        action=_readable(row.action),
        status=_readable(row.status),
        status_reason=row.status_reason or "",
        started_at=_readable(row.action_started_at),
        since=_readable(row.action_started_at if runs else row.posted_at),
        hook=row.hook,
        worker_id=row.lease_owner,
        worker_host=row.hostname,
        lease_expires_at=_readable(row.lease_expires_at),
        observe_at=_readable(row.observe_at),
    )


def _readable(value: Any) -> Any:
    return value if is_readable(value) else None
