"""The statements that find what is due, for the sweeps of observers.

Built once, since nearly all searches find nothing.  Those that read ids have a limit and no locks:
repositories lock those of the rows that still match.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import IN_FLIGHT, JobState, ObservedState
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements.resource_rows import (
    JOB_STATE_INDEX,
    PROJECT_INDEX,
    STACK_INDEX,
)
from heat_convergence.db.tables import quarantine, resource, snapshot, stack

_POSTED_OR_RUNNING = sorted({JobState.POSTED, JobState.RUNNING})
_BUSY = sorted(IN_FLIGHT | {JobState.AT_BREAKPOINT})
_LIMIT = sa.bindparam("limit", type_=sa.Integer)

Time = datetime | sa.BindParameter[datetime]


def _time(name: str) -> sa.BindParameter[datetime]:
    return sa.bindparam(name, type_=resource.c.observe_at.type)


def is_lost(now: Time, posted_before: Time) -> sa.ColumnElement[bool]:
    """Build the condition of jobs without a live lease that were posted before that time."""
    return sa.and_(
        resource.c.job_state.in_(_POSTED_OR_RUNNING),
        resource.c.posted_at < posted_before,
        resource.c.observe_at.is_(None),
        sa.or_(resource.c.lease_expires_at.is_(None), resource.c.lease_expires_at < now),
    )


def is_due_for_retry(now: Time) -> sa.ColumnElement[bool]:
    """Build the condition of quarantined resources that nobody tries to delete, but should."""
    c = quarantine.c
    return sa.and_(c.next_at <= now, sa.or_(c.taken_until.is_(None), c.taken_until <= now))


def _select_oldest(condition: sa.ColumnElement[bool], by: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(resource.c.id).where(condition).order_by(by).limit(_LIMIT)


def _select_cancelled_nested_stacks() -> sa.Select[tuple[str]]:
    cancelled = sa.exists().where(
        resource.c.id == stack.c.owner_resource_id,
        resource.c.physical_id == stack.c.id,
        resource.c.job_state == JobState.CANCELLED,
        resource.c.observed == ObservedState.BUSY,
    )
    of_parents = sa.and_(stack.c.status == Status.IN_PROGRESS, cancelled)
    return sa.select(stack.c.id).where(of_parents).order_by(stack.c.id).limit(_LIMIT)


def _select_stalled_stacks() -> sa.Select[tuple[str, int]]:
    # With an OR or without hints MariaDB reads for each stack what is busy or observed in all.
    # SCHEDULABLE jobs may be very many: for EXISTS it would read them all, for a value with a
    # limit it reads one of each stack.
    of_stack = sa.select(resource.c.id).where(resource.c.stack_id == stack.c.id)
    busy = force_index(of_stack.where(resource.c.job_state.in_(_BUSY)), resource, JOB_STATE_INDEX)
    waiting = of_stack.where(resource.c.job_state == JobState.SCHEDULABLE).limit(1)
    waiting = force_index(waiting, resource, JOB_STATE_INDEX)
    observed = of_stack.where(stack.c.stabilizing == sa.true(), resource.c.observe_at.is_not(None))
    observed = force_index(observed, resource, STACK_INDEX)
    started = stack.c.started_at < _time("before")
    return (
        sa.select(stack.c.id, stack.c.version)
        .where(stack.c.status == Status.IN_PROGRESS, started)
        .where(~busy.exists(), waiting.scalar_subquery().is_(None), ~observed.exists())
        .limit(_LIMIT)
    )


def _select_waiting_projects() -> sa.Select[tuple[str]]:
    # A value with a limit is looked up for each project; a join or EXISTS would read all jobs.
    # The search for any job ends the statement of an installation at rest.
    project = sa.select(stack.c.project_id).distinct().subquery("project")
    of_job = stack.alias("of_job")
    status = sa.select(of_job.c.status).where(of_job.c.id == resource.c.stack_id)
    waiting = sa.select(resource.c.id).where(
        resource.c.job_state == JobState.SCHEDULABLE, resource.c.posted_at < _time("before")
    )
    of_project = waiting.where(
        resource.c.project_id == project.c.project_id,
        status.scalar_subquery() == Status.IN_PROGRESS,
    )
    first = force_index(of_project.limit(1), resource, PROJECT_INDEX).scalar_subquery()
    return (
        sa.select(project.c.project_id)
        .where(waiting.exists(), first.is_not(None))
        .order_by(project.c.project_id)
        .limit(_LIMIT)
    )


OLDEST_LOST = _select_oldest(is_lost(_time("now"), _time("before")), resource.c.posted_at)
OLDEST_DUE = _select_oldest(resource.c.observe_at <= _time("now"), resource.c.observe_at)
OVERDUE_STACKS = (
    sa.select(stack.c.id)
    .where(stack.c.status == Status.IN_PROGRESS, stack.c.deadline_at <= _time("now"))
    .order_by(stack.c.deadline_at)
    .limit(_LIMIT)
)
CANCELLED_NESTED_STACKS = _select_cancelled_nested_stacks()
STALLED_STACKS = _select_stalled_stacks()
WAITING_PROJECTS = _select_waiting_projects()
SNAPSHOTS_TO_DELETE = (
    sa.select(snapshot.c.id)
    .where(snapshot.c.delete_at <= _time("now"))
    .order_by(snapshot.c.delete_at)
    .limit(_LIMIT)
)
_DUE_QUARANTINED = sa.select(quarantine.c.resource_id).where(is_due_for_retry(_time("now")))
_CANDIDATES = (  # the first that is found ends the search
    WAITING_PROJECTS,
    OLDEST_LOST,
    OVERDUE_STACKS,
    CANCELLED_NESTED_STACKS,
    STALLED_STACKS,
    SNAPSHOTS_TO_DELETE,
    _DUE_QUARANTINED,
)
ANYTHING_DUE = sa.select(
    sa.or_(*(each.order_by(None).limit(None).exists() for each in _CANDIDATES))
)
