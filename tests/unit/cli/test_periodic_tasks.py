"""Periodic tasks of an observer: a failing task does not stop the others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from heat_convergence.cli.daemons.periodic_tasks import PeriodicTasks
from heat_convergence.common import errors
from heat_convergence.common.clock import utc_now
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.statements import events
from heat_convergence.db.tables import event, metadata
from heat_convergence.testing.sample_rows import event_row


class FakeDelegation:
    def __init__(self, error=None):
        self.error = error
        self.revocations = 0

    def revoke_orphaned(self, now, limit):
        self.revocations += 1
        if self.error is not None:
            raise self.error
        return 1


@pytest.fixture
def database(tmp_path):
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")
    metadata.create_all(database.engine)
    with database.write() as conn:
        events.insert(conn, [event_row(f"e{n:02}", stack_id="s") for n in range(20)])
    yield database
    database.close()


def create_tasks(database, *, delegation=None, limit=5, is_stopping=lambda: False):
    conf = SimpleNamespace(max_events_per_stack=limit, event_purge_batch_size=4)
    components = SimpleNamespace(
        database=database, conf=conf, delegation=delegation, clock=utc_now
    )
    return PeriodicTasks(components, is_stopping)


def count(database):
    with database.read() as conn:
        return conn.execute(sa.select(sa.func.count()).select_from(event)).scalar_one()


@pytest.mark.parametrize(("limit", "left"), [(5, 5), (20, 20), (0, 20)])
def test_events_beyond_the_limit_are_deleted(database, limit, left):
    create_tasks(database, limit=limit).run_all()
    assert count(database) == left


@pytest.mark.parametrize("error", [errors.Unavailable("down"), KeyError("a mistake")])
def test_failing_task_does_not_stop_others(database, error):
    delegation = FakeDelegation(error)
    create_tasks(database, delegation=delegation).run_all()
    assert delegation.revocations == 1
    assert count(database) == 5


def test_stopping_process_starts_no_task(database):
    delegation = FakeDelegation()
    create_tasks(database, delegation=delegation, is_stopping=lambda: True).run_all()
    assert (delegation.revocations, count(database)) == (0, 20)
