"""This service beside a real control plane; without one these tests are skipped.

The test environment does not provide a control plane, so they are skipped under ``CI=true``, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import (
    ConfigOptions,
    ServiceDeployment,
    merge_options,
)
from tests.cloud.testbed import (
    TESTBED_VARIABLE,
    CloudTestbed,
    DeployedService,
    dedicated_region,
)
from tests.conftest import MARIADB, fresh_database, fresh_virtual_host

DeployService = Callable[..., DeployedService]


@pytest.fixture(scope="session")
def cloud_testbed() -> CloudTestbed:
    path = os.environ.get(TESTBED_VARIABLE)
    if not path:
        pytest.skip(f"{TESTBED_VARIABLE} names no cloud: the real services are left out")
    return CloudTestbed.from_file(path)


@pytest.fixture(scope="module")
def deploy(
    cloud_testbed: CloudTestbed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeployService]:
    """Return a function that starts the daemons with further options.

    Each deployment has a database and a message bus of its own.
    """
    with ExitStack() as cleanup:

        def deploy_service(
            keystone: CloudTestbed = cloud_testbed,
            sections: ConfigOptions | None = None,
            **defaults: Any,
        ) -> DeployedService:
            options = merge_options(keystone.options(), sections or {})
            options = merge_options(options, {"DEFAULT": defaults})
            deployment = ServiceDeployment(
                tmp_path_factory.mktemp("service"),
                database_url=cleanup.enter_context(_database()),
                transport_url=cleanup.enter_context(_bus()),
                options=options,
            )
            cleanup.enter_context(deployment)
            deployment.upgrade_database()
            deployment.start()
            region = cleanup.enter_context(dedicated_region(cloud_testbed, deployment.endpoint))
            return DeployedService(keystone, deployment.endpoint, region, deployment.config)

        yield deploy_service


@contextmanager
def _database() -> Iterator[str]:
    yield from fresh_database(MARIADB, "MariaDB")


@contextmanager
def _bus() -> Iterator[str]:
    yield from fresh_virtual_host()


@pytest.fixture(scope="module")
def keystone_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keystone")
