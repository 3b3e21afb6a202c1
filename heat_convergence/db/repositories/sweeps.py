"""Periodic searches of the observer in the database, each a transaction of its own.

Candidates are read without locks.  Those that still match, and that no other
transaction has locked, are locked by key.  Nearly all searches find nothing, so that the
statements which read candidates are built once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common import metrics
from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import IN_FLIGHT, JobRef, JobState, ObservedState
from heat_convergence.convergence.model.job_transitions import postpone_observation, repost
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.ports.store import SweepRepository
from heat_convergence.db.connection.database import Database
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.statements import hinted_observations, snapshot_rows
from heat_convergence.db.statements.readable_rows import read_each, select_earliest
from heat_convergence.db.statements.resource_rows import lock_matching
from heat_convergence.db.statements.resource_updates import apply_transition, update_rows
from heat_convergence.db.tables import resource, snapshot, stack

_POSTED_OR_RUNNING = sorted({JobState.POSTED, JobState.RUNNING})
_NEXT_OBSERVATION = select_earliest(resource.c.observe_at)
_BUSY = sorted(IN_FLIGHT | {JobState.AT_BREAKPOINT})
_LIMIT = sa.bindparam("limit", type_=sa.Integer)

T = TypeVar("T")
Time = datetime | sa.BindParameter[datetime]


def _time(name: str) -> sa.BindParameter[datetime]:
    return sa.bindparam(name, type_=resource.c.observe_at.type)


def _is_lost(now: Time, posted_before: Time) -> sa.ColumnElement[bool]:
    return sa.and_(
        resource.c.job_state.in_(_POSTED_OR_RUNNING),
        resource.c.posted_at < posted_before,
        resource.c.observe_at.is_(None),
        sa.or_(resource.c.lease_expires_at.is_(None), resource.c.lease_expires_at < now),
    )


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
    read = sa.and_(stack.c.stabilizing == sa.true(), resource.c.observe_at.is_not(None))
    busy = sa.exists().where(
        resource.c.stack_id == stack.c.id, sa.or_(resource.c.job_state.in_(_BUSY), read)
    )
    started = stack.c.started_at < _time("before")
    return (
        sa.select(stack.c.id, stack.c.version)
        .where(stack.c.status == Status.IN_PROGRESS, started, ~busy)
        .limit(_LIMIT)
    )


def _select_waiting_projects() -> sa.Select[tuple[str]]:
    waits = sa.exists().where(
        resource.c.stack_id == stack.c.id,
        resource.c.job_state == JobState.SCHEDULABLE,
        resource.c.posted_at < _time("before"),
    )
    return (
        sa.select(stack.c.project_id)
        .where(stack.c.status == Status.IN_PROGRESS, waits)
        .distinct()
        .order_by(stack.c.project_id)
        .limit(_LIMIT)
    )


_OLDEST_LOST = _select_oldest(_is_lost(_time("now"), _time("before")), resource.c.posted_at)
_OLDEST_DUE = _select_oldest(resource.c.observe_at <= _time("now"), resource.c.observe_at)
_OVERDUE_STACKS = (
    sa.select(stack.c.id)
    .where(stack.c.status == Status.IN_PROGRESS, stack.c.deadline_at <= _time("now"))
    .order_by(stack.c.deadline_at)
    .limit(_LIMIT)
)
_CANCELLED_NESTED_STACKS = _select_cancelled_nested_stacks()
_STALLED_STACKS = _select_stalled_stacks()
_WAITING_PROJECTS = _select_waiting_projects()
_SNAPSHOTS_TO_DELETE = (
    sa.select(snapshot.c.id)
    .where(snapshot.c.delete_at <= _time("now"))
    .order_by(snapshot.c.delete_at)
    .limit(_LIMIT)
)


class SqlSweepRepository(SweepRepository):
    """Sweeps over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """Take POSTED and RUNNING jobs without a live lease, posted before that time."""
        values = {"now": now, "before": posted_before, "limit": limit}
        with self._database.write() as connection:
            oldest = list(connection.scalars(_OLDEST_LOST, values))
            rows = lock_matching(connection, oldest, _is_lost(now, posted_before))
            apply_transition(connection, [row.id for row in rows], repost(now))
        return _counted("lost jobs", [JobRef(row.stack_id, row.version, row.id) for row in rows])

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Take resources whose ``observe_at`` has come, and postpone it to ``until``."""
        with self._database.write() as connection:
            oldest = list(connection.scalars(_OLDEST_DUE, {"now": now, "limit": limit}))
            due = lock_matching(connection, oldest, resource.c.observe_at <= now)
            ids = [row.id for row in due]
            update_rows(connection, ids, postpone_observation(until).values)
            return SqlResourceRepository(connection).get_readable(ids)

    def advance_observations(self, hints: ChangeHints, now: datetime, limit: int) -> int:
        """Make resources due that wait for an observation, and to which hints apply."""
        with self._database.write() as connection:
            return hinted_observations.advance_observations(connection, hints, now, limit)

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        """Take snapshots whose ``delete_at`` has come, and postpone it to ``until``."""
        with self._database.write() as connection:
            ids = connection.scalars(_SNAPSHOTS_TO_DELETE, {"now": now, "limit": limit}).all()
            return _take_snapshots(connection, sorted(ids), now, until) if ids else []

    def get_next_observation_time(self) -> datetime | None:
        """Return the earliest ``observe_at`` of all resources."""
        with self._database.read() as connection:
            earliest: datetime | None = connection.scalar(_NEXT_OBSERVATION)
            return earliest

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS stacks whose deadline has passed."""
        found = self._select_ids(_OVERDUE_STACKS, now=now, limit=limit)
        return _counted("overdue stacks", found)

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS nested stacks that their parents have cancelled."""
        found = self._select_ids(_CANCELLED_NESTED_STACKS, limit=limit)
        return _counted("cancelled nested stacks", found)

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        """Return (id, version) of IN_PROGRESS stacks without a job in flight."""
        with self._database.read() as connection:
            rows = connection.execute(_STALLED_STACKS, {"before": before, "limit": limit})
            found = [(row.id, row.version) for row in rows]
        return _counted("stalled stacks", found)

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        """Return ids of projects with stacks in progress and jobs SCHEDULABLE too long."""
        return self._select_ids(_WAITING_PROJECTS, before=before, limit=limit)

    def _select_ids(self, statement: sa.Select[tuple[str]], **values: Any) -> list[str]:
        with self._database.read() as connection:
            return list(connection.scalars(statement, values))


def _counted(search: str, found: list[T]) -> list[T]:
    """Count what a search found, for the metrics, and return it."""
    metrics.SWEPT.labels(search).inc(len(found))
    return found


def _take_snapshots(
    connection: Connection, ids: Sequence[str], now: datetime, until: datetime
) -> list[Snapshot]:
    due = sa.and_(snapshot.c.id.in_(ids), snapshot.c.delete_at <= now)
    selected = sa.select(*snapshot_rows.COLUMNS).where(due).order_by(snapshot.c.id)
    locked = force_index(selected, snapshot).with_for_update(skip_locked=True)
    rows = connection.execute(locked).all()
    taken = [row.id for row in rows]
    postponed = force_index(snapshot.update().where(snapshot.c.id.in_(taken)), snapshot)
    connection.execute(postponed.values(delete_at=until))
    return read_each(rows, snapshot_rows.from_row)
