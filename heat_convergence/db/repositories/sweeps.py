"""Periodic searches of the observer in the database, each a transaction of its own.

Candidates are read without locks.  Those that still match, and that no other
transaction has locked, are locked by key.  Nearly all searches find nothing: one statement
tells whether any would find something, and those that read candidates are built once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common import metrics
from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.model.job import JobRef
from heat_convergence.convergence.model.job_transitions import postpone_observation, repost
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.ports.store import SweepRepository
from heat_convergence.db import sweep_candidates as candidates
from heat_convergence.db.connection.database import Database
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.statements import hinted_observations, snapshot_rows
from heat_convergence.db.statements.readable_rows import read_each, select_earliest
from heat_convergence.db.statements.resource_rows import lock_matching
from heat_convergence.db.statements.resource_updates import apply_transition, update_rows
from heat_convergence.db.tables import resource, snapshot

_NEXT_OBSERVATION = select_earliest(resource.c.observe_at)

T = TypeVar("T")


class SqlSweepRepository(SweepRepository):
    """Sweeps over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def is_anything_due(self, now: datetime, before: datetime) -> bool:
        """Return whether a search of the sweep would find anything."""
        with self._database.read() as connection:
            return bool(connection.scalar(candidates.ANYTHING_DUE, {"now": now, "before": before}))

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """Take POSTED and RUNNING jobs without a live lease, posted before that time."""
        values = {"now": now, "before": posted_before, "limit": limit}
        with self._database.write() as connection:
            oldest = list(connection.scalars(candidates.OLDEST_LOST, values))
            rows = lock_matching(connection, oldest, candidates.is_lost(now, posted_before))
            apply_transition(connection, [row.id for row in rows], repost(now))
        return _counted("lost jobs", [JobRef(row.stack_id, row.version, row.id) for row in rows])

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Take resources whose ``observe_at`` has come, and postpone it to ``until``."""
        with self._database.write() as connection:
            oldest = list(connection.scalars(candidates.OLDEST_DUE, {"now": now, "limit": limit}))
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
            ids = connection.scalars(
                candidates.SNAPSHOTS_TO_DELETE, {"now": now, "limit": limit}
            ).all()
            return _take_snapshots(connection, sorted(ids), now, until) if ids else []

    def get_next_observation_time(self) -> datetime | None:
        """Return the earliest ``observe_at`` of all resources."""
        with self._database.read() as connection:
            earliest: datetime | None = connection.scalar(_NEXT_OBSERVATION)
            return earliest

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS stacks whose deadline has passed."""
        found = self._select_ids(candidates.OVERDUE_STACKS, now=now, limit=limit)
        return _counted("overdue stacks", found)

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS nested stacks that their parents have cancelled."""
        found = self._select_ids(candidates.CANCELLED_NESTED_STACKS, limit=limit)
        return _counted("cancelled nested stacks", found)

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        """Return (id, version) of IN_PROGRESS stacks without a job in flight or SCHEDULABLE."""
        with self._database.read() as connection:
            rows = connection.execute(
                candidates.STALLED_STACKS, {"before": before, "limit": limit}
            )
            found = [(row.id, row.version) for row in rows]
        return _counted("stalled stacks", found)

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        """Return ids of projects with stacks in progress and jobs SCHEDULABLE too long."""
        return self._select_ids(candidates.WAITING_PROJECTS, before=before, limit=limit)

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
