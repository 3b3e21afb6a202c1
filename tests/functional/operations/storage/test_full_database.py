"""A database whose disk is full: requests get 503, and work goes on when space is free."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import StorageFull
from heat_convergence.db.connection.database import database_from_url
from tests.functional.harness import LocalService

TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "first": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}},
        "second": {"type": "OS::Heat::TestResource", "depends_on": "first"},
    },
}
SetFull = Callable[[bool], None]


@pytest.fixture
def set_full(service: LocalService) -> SetFull:
    """Return a function that fills the disk of the database, or frees space."""
    full = {"full": False}

    @sa.event.listens_for(service.database.engine, "do_execute")
    def refuse_writes(_cursor: Any, statement: str, *_others: Any) -> None:
        if full["full"] and statement.startswith(("INSERT", "UPDATE", "DELETE")):
            raise sqlite3.OperationalError("database or disk is full")

    return lambda is_full: full.update(full=is_full)


def test_writes_are_refused_for_the_moment_and_reads_are_answered(
    service: LocalService, set_full: SetFull, caplog: pytest.LogCaptureFixture
) -> None:
    set_full(True)
    body = {"stack_name": "a", "template": TEMPLATE}
    response = service.send("POST", "/stacks", body)
    assert response.status_int == 503
    assert response.json["error"]["type"] == "Unavailable"
    assert "The database has no space left." in caplog.text
    assert service.send("GET", "/stacks").json == {"stacks": []}
    set_full(False)
    assert service.send("POST", "/stacks", body).status_int == 201


def test_job_is_repeated_when_space_is_free(
    service: LocalService, set_full: SetFull, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"stack_name": "a", "template": TEMPLATE}
    path = service.send("POST", "/stacks", body, leave_pending=True).location
    set_full(True)
    service.handle_pending()
    service.clock.advance(60)
    set_full(False)
    service.observer.tick()
    service.run_until_idle()
    stack = service.send("GET", path.partition("/v1/p")[2]).json["stack"]
    assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
    assert "has no space left" in caplog.text


def test_full_table_of_mariadb(mariadb_url: str) -> None:
    database = database_from_url(mariadb_url)

    def fill() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("SET max_heap_table_size = 16384")
            connection.exec_driver_sql("CREATE TEMPORARY TABLE probe (n INT) ENGINE = MEMORY")
            for _ in range(10):
                numbers = ", ".join(["(1)"] * 1000)
                connection.exec_driver_sql(f"INSERT INTO probe VALUES {numbers}")

    try:
        with pytest.raises(StorageFull):
            fill()
    finally:
        database.close()
