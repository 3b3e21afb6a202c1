"""A database for components that read or write one, in memory, since files take longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.table_creation import create_tables


@pytest.fixture
def database() -> Iterator[Database]:
    """An SQLite database with the tables of the service and without rows."""
    database = database_from_url("sqlite://")
    create_tables(database.engine)
    yield database
    database.close()
