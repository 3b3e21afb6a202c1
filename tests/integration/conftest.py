"""Real daemons on real services: deployments on emptied databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.conftest import MARIADB, POSTGRESQL, fresh_database
from tests.integration.chaos import use_file_cloud
from tests.integration.harness import drop_all_tables

Deploy = Callable[..., ServiceDeployment]


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """Yield the URL of a database for the daemons alone, which must find it empty."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Yield the URL of a database for the daemons alone, which must find it empty."""
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


@pytest.fixture
def deploy(tmp_path: Path, rabbit_url: str) -> Iterator[Deploy]:
    """Makes deployments whose daemons are not started yet, and ends them.

    ``database_url`` is emptied and upgraded first; ``connection_url`` and
    ``transport_url`` replace the real addresses in the configuration.
    """
    numbers = itertools.count()
    with ExitStack() as stack:

        def make(
            database_url: str,
            *,
            concurrency: str = "eventlet",
            connection_url: str | None = None,
            transport_url: str | None = None,
        ) -> ServiceDeployment:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            drop_all_tables(database_url)
            deployment = ServiceDeployment(
                folder,
                database_url=database_url,
                transport_url=transport_url or rabbit_url,
                concurrency=concurrency,
            )
            deployment.upgrade_database()
            if connection_url is not None:
                deployment.reconfigure({"database": {"connection": connection_url}})
            return stack.enter_context(deployment)

        yield make


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_file_cloud(tmp_path, monkeypatch)
