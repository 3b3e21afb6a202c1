"""InnoDB locks all that a statement comes by: none that locks may read a whole table.

Everything that daemons do is done on small tables, where MariaDB would rather read all
of them, and the server is asked about each statement which way it takes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from heat_convergence.common.clock import utc_now
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db import sweep_candidates
from heat_convergence.db.connection.database import Database
from heat_convergence.db.maintenance import purge
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.statements import events
from heat_convergence.db.statements.resource_rows import JOB_STATE_INDEX, STACK_INDEX
from heat_convergence.db.store import SqlStore
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.in_process_service import InProcessService
from tests.functional.empty_tables import open_with_empty_tables
from tests.functional.performance.test_traversal_cost import layered, wide

SAFE = "SET STATEMENT sql_safe_updates=1 FOR "
BY_KEY = {"const", "eq_ref", "ref", "range", "index_merge"}
# Reads of one table that are no search, and of none.
NO_SEARCH = {"Impossible WHERE noticed after reading const tables", "Impossible WHERE"}


class LockPlanExplainer:
    """The plans of all locking statements, explained on another connection."""

    def __init__(self, database: Database) -> None:
        self.explained_statements: set[str] = set()
        self.long: dict[str, Any] = {}
        self._connection = database.engine.connect().execution_options(
            isolation_level="AUTOCOMMIT"
        )
        event.listen(database.engine, "before_cursor_execute", self._ask)

    def close(self) -> None:
        self._connection.close()

    def _ask(
        self,
        connection: Any,
        cursor: Any,
        statement: str,
        parameters: Any,
        context: Any,
        many: bool,
    ) -> None:
        locks = statement.startswith(("UPDATE", "DELETE")) or "FOR UPDATE" in statement
        if not locks and not statement.startswith(SAFE):
            return
        self.explained_statements.add(statement)
        if statement.startswith(SAFE):
            return  # the server refuses what goes by no key, but explains as if it did not
        raw = self._connection.connection.cursor()
        raw.execute(f"EXPLAIN {statement}", parameters[0] if many else parameters)
        names = [column[0] for column in raw.description]
        for row in raw.fetchall():
            way = dict(zip(names, row, strict=True))
            if way["type"] not in BY_KEY and way["Extra"] not in NO_SEARCH:
                self.long[statement] = way
        raw.close()


@pytest.fixture
def database(mariadb_url: str) -> Iterator[Database]:
    with open_with_empty_tables(mariadb_url) as opened:
        yield opened


@pytest.fixture
def ways(database: Database) -> Iterator[LockPlanExplainer]:
    ways = LockPlanExplainer(database)
    yield ways
    ways.close()


def _name() -> str:
    return f"ways-{uuid.uuid4().hex}"


def test_what_locks_goes_by_keys(database: Database, ways: LockPlanExplainer) -> None:
    settings = ConvergenceSettings(jobs_in_flight=30, batch_size=25)
    store = SqlStore(database)
    service = InProcessService(store, ResourceTypeRegistry([TestResource()]), settings=settings)
    failing = {name: replace(one, properties={"fail": True}) for name, one in wide(40).items()}
    stacks = [service.create(shape, name=_name()) for shape in (wide(40), layered(40), failing)]
    service.run_until_idle()
    service.update(stacks[0], {**wide(20, r3="changed"), **layered(20)})
    service.update(stacks[2], wide(40))
    service.bus.pending.clear()  # so that there is something to sweep
    later = utc_now() + timedelta(minutes=1)
    for job in store.sweeps.take_lost_jobs(later, later, 500):
        service.bus.converge([ResourceHint(job.stack_id, job.version, (job.resource_id,))])
    service.run_until_idle()
    store.sweeps.take_due_observations(later, later, 500)
    store.workers.renew_leases("nobody", ["a", "b"], later)
    with store.transaction() as tx:
        tx.resources.set_versions(stacks[1], 7)
        some = [row.id for row in tx.resources.lock_by_names(stacks[1], ["r1", "r2"])]
        tx.resources.set_versions_of(some, 8)
        tx.graph.clear_part(stacks[1], some)
    for stack_id in stacks[::2]:
        service.delete(stack_id)
    service.run_until_idle()
    with database.write() as connection:
        events.delete_oldest(connection, stacks[1], 2, 50)
    purge.purge_stacks(database, stacks)
    purge.purge_services(database, later)
    assert ways.long == {}
    assert len(ways.explained_statements) > 15


def test_deletion_of_absent_resources_reads_no_others(database: Database) -> None:
    service = InProcessService(SqlStore(database), ResourceTypeRegistry([TestResource()]))
    stack_id = service.create(wide(40), name=_name())
    service.run_until_idle()
    with database.write() as connection:
        before = _rows_searched(connection)
        SqlResourceRepository(connection).delete_absent([stack_id])
        assert _rows_searched(connection) - before < 5


def test_search_for_stacks_without_work_uses_the_indexes_of_jobs_and_stacks(
    database: Database,
) -> None:
    service = InProcessService(SqlStore(database), ResourceTypeRegistry([TestResource()]))
    for _ in range(20):
        service.create(wide(20), name=_name())
    search = sweep_candidates.STALLED_STACKS.params(before=utc_now(), limit=20)
    statement = search.compile(database.engine, compile_kwargs={"literal_binds": True})
    with database.read() as connection:
        connection.exec_driver_sql("ANALYZE TABLE resource, stack").all()
        plan = connection.exec_driver_sql(f"EXPLAIN {statement}").mappings().all()
    indexes = {row["key"] for row in plan if row["table"] == "resource"}
    assert indexes == {JOB_STATE_INDEX, STACK_INDEX}


def test_search_for_waiting_projects_reads_one_job_of_each_stack(database: Database) -> None:
    service = InProcessService(SqlStore(database), ResourceTypeRegistry([TestResource()]))
    for _ in range(20):
        service.create(wide(40), name=_name())
    search = {"before": utc_now() + timedelta(seconds=1), "limit": 20}
    with database.read() as connection:
        connection.exec_driver_sql("ANALYZE TABLE resource, stack").all()
        before = _rows_searched(connection)
        found = connection.scalars(sweep_candidates.WAITING_PROJECTS, search).all()
        searched = _rows_searched(connection) - before
    assert len(found) == 1
    assert searched < 100


def _rows_searched(connection: Connection) -> int:
    found = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read_%%'")
    return sum(int(count) for name, count in found if name.endswith(("_key", "_next")))
