"""This service beside a real control plane; without one these tests are skipped.

A control plane is none of the three services that the tests need, so that they are
skipped under ``CI=true``, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemons import Deployment
from tests.cloud.bed import VARIABLE, Bed, Ours, own_region
from tests.conftest import MARIADB, fresh_bus, fresh_database

Deploy = Callable[..., Ours]


@pytest.fixture(scope="session")
def bed() -> Bed:
    path = os.environ.get(VARIABLE)
    if not path:
        pytest.skip(f"{VARIABLE} names no cloud: the real services are left out")
    return Bed.of(path)


@pytest.fixture(scope="module")
def deploy(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deploy]:
    """Starts the daemons with the bed's Keystone, and options beyond that.  Those that
    run already have another database, and take none of their messages."""
    with ExitStack() as stack:

        def make(keystone: Bed = bed, **default: Any) -> Ours:
            options = {section: dict(given) for section, given in keystone.options().items()}
            options["DEFAULT"].update(default)
            deployment = Deployment(
                tmp_path_factory.mktemp("ours"),
                database_url=stack.enter_context(_database()),
                transport_url=stack.enter_context(_bus()),
                options=options,
            )
            stack.enter_context(deployment)
            deployment.upgrade_database()
            deployment.start()
            region = stack.enter_context(own_region(bed, deployment.endpoint))
            return Ours(keystone, deployment, region)

        yield make


@contextmanager
def _database() -> Iterator[str]:
    yield from fresh_database(MARIADB, "MariaDB")


@contextmanager
def _bus() -> Iterator[str]:
    yield from fresh_bus()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keystone")
