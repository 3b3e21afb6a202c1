"""Periodic tasks of an observer: a failing task does not stop the others."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.daemons import periodic_tasks
from heat_convergence.cli.daemons.periodic_tasks import PeriodicTasks
from heat_convergence.common.clock import utc_now
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.failures import Unavailable
from heat_convergence.common.ids import IdGenerator
from heat_convergence.common.time_limit import remaining_s
from heat_convergence.db.connection.database import Database
from heat_convergence.db.repositories.events import SqlEventRepository
from heat_convergence.db.repositories.workers import SqlWorkerRepository
from heat_convergence.db.statements import events
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import content, event, service, stack
from heat_convergence.testing.sample_rows import event_row, goal_row, service_row, stack_row


class FakeDelegation:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.revocations = 0

    def revoke_orphaned(self, now: datetime, limit: int) -> int:
        self.revocations += 1
        assert remaining_s() is not None, "a Keystone that hangs would stop the other tasks"
        if self.error is not None:
            raise self.error
        return 1


@pytest.fixture
def database(database: Database) -> Database:
    """A database with the events of a stack."""
    with database.write() as conn:
        rows = [event_row(f"e{n:02}", stack_id="s") for n in range(20)]
        SqlEventRepository(conn).insert(rows)
    return database


def create_tasks(
    database: Database,
    *,
    delegation: FakeDelegation | None = None,
    limit: int = 5,
    is_stopping: Callable[[], bool] = lambda: False,
    monotonic: Callable[[], float] = lambda: 0.0,
    days: int = 90,
) -> PeriodicTasks:
    housekeeping = SimpleNamespace(deleted_stacks_days=days, ended_workers_hours=24)
    conf = SimpleNamespace(
        max_events_per_stack=limit, event_purge_batch_size=4, housekeeping=housekeeping
    )
    components = SimpleNamespace(
        database=database, conf=conf, delegation=delegation, clock=utc_now, errors=ErrorLog()
    )
    return PeriodicTasks(cast("ProcessComponents", components), is_stopping, monotonic)


def count(database: Database) -> int:
    with database.read() as conn:
        return int(conn.execute(sa.select(sa.func.count()).select_from(event)).scalar_one())


@pytest.mark.parametrize(("limit", "left"), [(5, 5), (20, 20), (0, 20)])
def test_events_beyond_the_limit_are_deleted(database: Database, limit: int, left: int) -> None:
    create_tasks(database, limit=limit).run_all()
    assert count(database) == left


def test_later_runs_count_only_stacks_with_new_events(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    find = events.find_stacks_over_limit

    def recorded(connection: Connection, most: int, limit: int, since_id: str) -> list[str]:
        searched.append(since_id)
        return find(connection, most, limit, since_id)

    monkeypatch.setattr(events, "find_stacks_over_limit", recorded)
    times_s = iter([0.0, 60.0, periodic_tasks.EVENT_COUNT_INTERVAL_S])
    tasks = create_tasks(database, monotonic=lambda: next(times_s))
    assert tasks.purge_events() == 15
    with database.write() as conn:
        new = IdGenerator(utc_now, random.Random(1))
        SqlEventRepository(conn).insert([event_row(new(), stack_id="s") for _ in range(3)])
    assert tasks.purge_events() == 3
    assert tasks.purge_events() == 0
    assert searched[0] == searched[2] == "" < searched[1] < new()


def test_run_that_finds_more_stacks_than_it_purges_counts_all_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periodic_tasks, "MAX_STACKS_PER_RUN", 1)
    with database.write() as conn:
        SqlEventRepository(conn).insert([event_row(f"f{n}", stack_id="t") for n in range(9)])
    tasks = create_tasks(database)
    assert [tasks.purge_events() for _ in range(3)] == [15, 4, 0]


@pytest.mark.parametrize("error", [Unavailable("down"), KeyError("a mistake")])
def test_failing_task_does_not_stop_others(database: Database, error: Exception) -> None:
    delegation = FakeDelegation(error)
    create_tasks(database, delegation=delegation).run_all()
    assert delegation.revocations == 1
    assert count(database) == 5


def test_stopping_process_starts_no_task(database: Database) -> None:
    delegation = FakeDelegation()
    create_tasks(database, delegation=delegation, is_stopping=lambda: True).run_all()
    assert (delegation.revocations, count(database)) == (0, 20)


def store_deleted(database: Database, name: str, days: float) -> None:
    """Store a deleted stack whose template is a content of its own."""
    with SqlStore(database).transaction() as tx:
        template_hash = f"{name:t<64}"
        tx.stacks.insert(stack_row(name))
        tx.goals.insert(goal_row(f"goal-{name}", stack_id=name, template_hash=template_hash))
        tx.contents.put({template_hash: name})
        tx.stacks.update(name, deleted_at=utc_now() - timedelta(days=days))


def ids_in(database: Database, column: sa.Column[str]) -> list[str]:
    with database.read() as conn:
        return sorted(conn.scalars(sa.select(column)))


def test_stacks_deleted_long_ago_are_purged_with_their_contents(database: Database) -> None:
    for number in range(25):
        store_deleted(database, f"old-{number:02}", 91)
    store_deleted(database, "young", 89)
    create_tasks(database).run_all()
    assert ids_in(database, stack.c.id) == ["young"]
    assert ids_in(database, content.c.hash) == [f"{'young':t<64}"]


def test_contents_are_purged_once_a_day(database: Database) -> None:
    now_s = 0.0
    tasks = create_tasks(database, monotonic=lambda: now_s)
    for hours, left in ((0, 0), (23, 1), (24, 0)):
        now_s = hours * 3600.0
        store_deleted(database, f"old-{hours}", 91)
        tasks.run_all()
        assert ids_in(database, stack.c.id) == []
        assert len(ids_in(database, content.c.hash)) == left


def test_zero_days_keep_deleted_stacks(database: Database) -> None:
    store_deleted(database, "old", 1000)
    create_tasks(database, days=0).run_all()
    assert ids_in(database, stack.c.id) == ["old"]


def test_run_purges_a_limited_number_of_stacks(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periodic_tasks, "MAX_DELETED_STACKS_PER_RUN", 20)
    for number in range(25):
        store_deleted(database, f"old-{number:02}", 91)
    tasks = create_tasks(database)
    assert [tasks.purge_deleted_stacks() for _ in range(3)] == [20, 5, 0]


def test_workers_that_ended_long_ago_are_removed(database: Database) -> None:
    workers = SqlWorkerRepository(database)
    for name, hours in (("long-ago", 25), ("lately", 23)):
        reported_at = utc_now() - timedelta(hours=hours)
        workers.record_heartbeat(service_row(name, report_interval_s=60), reported_at)
    create_tasks(database).run_all()
    assert ids_in(database, service.c.id) == ["lately"]
