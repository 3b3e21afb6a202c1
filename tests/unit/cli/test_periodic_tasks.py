"""Periodic tasks of an observer: a failing task does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import sqlalchemy as sa

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.daemons.periodic_tasks import PeriodicTasks
from heat_convergence.common import errors
from heat_convergence.common.clock import utc_now
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.time_limit import remaining_s
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.repositories.events import SqlEventRepository
from heat_convergence.db.tables import event, metadata
from heat_convergence.testing.sample_rows import event_row


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
def database(tmp_path: Path) -> Iterator[Database]:
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")
    metadata.create_all(database.engine)
    with database.write() as conn:
        rows = [event_row(f"e{n:02}", stack_id="s") for n in range(20)]
        SqlEventRepository(conn).insert(rows)
    yield database
    database.close()


def create_tasks(
    database: Database,
    *,
    delegation: FakeDelegation | None = None,
    limit: int = 5,
    is_stopping: Callable[[], bool] = lambda: False,
) -> PeriodicTasks:
    conf = SimpleNamespace(max_events_per_stack=limit, event_purge_batch_size=4)
    components = SimpleNamespace(
        database=database, conf=conf, delegation=delegation, clock=utc_now, errors=ErrorLog()
    )
    return PeriodicTasks(cast("ProcessComponents", components), is_stopping)


def count(database: Database) -> int:
    with database.read() as conn:
        return int(conn.execute(sa.select(sa.func.count()).select_from(event)).scalar_one())


@pytest.mark.parametrize(("limit", "left"), [(5, 5), (20, 20), (0, 20)])
def test_events_beyond_the_limit_are_deleted(database: Database, limit: int, left: int) -> None:
    create_tasks(database, limit=limit).run_all()
    assert count(database) == left


@pytest.mark.parametrize("error", [errors.Unavailable("down"), KeyError("a mistake")])
def test_failing_task_does_not_stop_others(database: Database, error: Exception) -> None:
    delegation = FakeDelegation(error)
    create_tasks(database, delegation=delegation).run_all()
    assert delegation.revocations == 1
    assert count(database) == 5


def test_stopping_process_starts_no_task(database: Database) -> None:
    delegation = FakeDelegation()
    create_tasks(database, delegation=delegation, is_stopping=lambda: True).run_all()
    assert (delegation.revocations, count(database)) == (0, 20)
