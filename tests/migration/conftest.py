"""Empty databases for migrations: one for each test, on each server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heat_convergence.db.connection.database import Database, database_from_url
from tests.conftest import MARIADB, POSTGRESQL, fresh_database


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.sqlite"
    elif request.param == "mariadb":
        yield from fresh_database(MARIADB, "MariaDB")
    else:
        yield from fresh_database(POSTGRESQL, "PostgreSQL")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = database_from_url(url)
    yield database
    database.close()
