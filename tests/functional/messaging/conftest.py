"""A service in one process, on each database, whose messages tests deliver themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import Database
from heat_convergence.db.store import SqlStore
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.in_process_service import InProcessService
from tests.functional.empty_tables import open_with_empty_tables


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_with_empty_tables(request.getfixturevalue(f"{request.param}_url")) as opened:
        yield opened


@pytest.fixture
def in_process(database: Database) -> InProcessService:
    registry = ResourceTypeRegistry([TestResource()])
    return InProcessService(SqlStore(database), registry, settings=ConvergenceSettings())
