"""Clusters of three nodes on loopback, and daemons spread over their nodes.

They take minutes and most of a machine: they run if the environment has
HEAT_CONVERGENCE_TEST_CLUSTERS=1, and are skipped otherwise, under ``CI=true``, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import (
    API,
    ENGINE,
    OBSERVER,
    ConfigOptions,
    ServiceDeployment,
    wait_until,
)
from tests.clusters.balancer import Balancer, HealthChecks
from tests.clusters.galera import GaleraCluster, find_missing_galera_parts, running_galera
from tests.clusters.rabbitmq import RabbitCluster, find_missing_rabbitmq_parts, running_rabbitmq
from tests.integration.chaos import use_file_cloud
from tests.integration.harness import is_ready

VARIABLE = "HEAT_CONVERGENCE_TEST_CLUSTERS"
SIZE = 3


def _skip_unless_possible(missing: list[str]) -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: clusters are left out")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="session")
def galera() -> Iterator[GaleraCluster]:
    _skip_unless_possible(find_missing_galera_parts())
    with running_galera() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitCluster]:
    _skip_unless_possible(find_missing_rabbitmq_parts())
    with running_rabbitmq() as cluster:
        yield cluster


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_file_cloud(tmp_path, monkeypatch)


class ClusterDeployment:
    """Daemons of which each prefers another node of a Galera and of a RabbitMQ cluster.

    Each has its own balancer before the database. The API is there once for each node.
    """

    def __init__(
        self, folder: Path, galera: GaleraCluster, rabbitmq: RabbitCluster, stack: ExitStack
    ) -> None:
        self._galera, self._rabbitmq, self._stack = galera, rabbitmq, stack
        self._health = stack.enter_context(HealthChecks(galera.nodes))
        galera.nodes[0].query("DROP DATABASE IF EXISTS heat")
        galera.nodes[0].query("CREATE DATABASE heat CHARACTER SET utf8mb4")
        self.service = stack.enter_context(
            ServiceDeployment(
                folder,
                database_url=self._balanced_url(0),
                transport_url=rabbitmq.transport_url(0),
            )
        )
        self.service.upgrade_database()
        galera.wait_until_applied()

    @property
    def database_url(self) -> str:
        """A URL for the test's own queries."""
        return self._balanced_url(0)

    def node_url(self, number: int) -> str:
        """Return the URL of one node, without a balancer."""
        return f"mysql+pymysql://root@127.0.0.1:{self._galera.nodes[number].port}/heat"

    def start(self, *, apis: int = 1) -> ServiceDeployment:
        """Start engines and observers on each node, and APIs on the first ones."""
        for number in range(SIZE):
            self.service.add_daemon(ENGINE, self._options(number)).start(wait=False)
            self.service.add_daemon(OBSERVER, self._options(number + 1)).start(wait=False)
        for number in range(apis):
            self.service.add_daemon(API, self._options(number, api=number)).start(wait=False)
        for daemon in self.service.daemons:
            daemon.wait_until_started()
        for number in range(apis):
            endpoint = self.api_endpoint(number)
            wait_until(lambda ready=endpoint: is_ready(ready), f"{endpoint} is ready")
        return self.service

    def api_endpoint(self, number: int) -> str:
        """Return the address of one of the APIs."""
        return f"http://127.0.0.1:{self.service.port + number}"

    def _options(self, first: int, api: int = 0) -> ConfigOptions:
        return {
            "DEFAULT": {"transport_url": self._rabbitmq.transport_url(first)},
            "database": {"connection": self._balanced_url(first)},
            "heat_api": {"bind_port": self.service.port + api},
        }

    def _balanced_url(self, first: int) -> str:
        nodes = self._galera.nodes
        at = first % len(nodes)
        balancer = Balancer([*nodes[at:], *nodes[:at]], self._health)
        self._stack.callback(balancer.close)
        return f"mysql+pymysql://root@127.0.0.1:{balancer.port}/heat"


@pytest.fixture
def cluster_deployment(
    tmp_path: Path, galera: GaleraCluster, rabbitmq: RabbitCluster
) -> Iterator[ClusterDeployment]:
    with ExitStack() as stack:
        yield ClusterDeployment(tmp_path, galera, rabbitmq, stack)
