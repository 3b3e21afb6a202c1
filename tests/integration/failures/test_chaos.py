"""Everything is killed and cut off while stacks are made, changed and deleted.

Seeded: who is killed when, and what the users ask for.  In the end each stack is
where its last accepted request wanted it, and the cloud, which keeps its own
account, holds exactly what the stacks say, each thing made once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from heat_convergence.testing.daemon_processes import DaemonProcess, ServiceDeployment
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.integration.chaos import SEED, assert_account_is_right, run_users
from tests.integration.conftest import Deploy
from tests.integration.harness import query_rows
from tests.integration.proxy import Proxy

KILL_COUNT = 9
BETWEEN_KILLS_S = 2.5
OUTAGE_S = 2.0
DEADLOCKS = ("deadlock", "Deadlock", "transaction retried after a conflict")
# An engine prepares jobs without locks, and prepares them again when another was faster.
PREPARED_AGAIN = "rows have changed since they were read"

Proxied = Callable[[str, str], tuple[ServiceDeployment, Proxy, Proxy]]


@dataclass(slots=True)
class OutageInjector:
    """Kills one daemon after the other and, once each, cuts off bus and database."""

    deployment: ServiceDeployment
    services: dict[int, Proxy]  # before which kill
    random: Random
    finished: threading.Event = field(default_factory=threading.Event)
    killed_daemons: list[str] = field(default_factory=list)

    def run(self) -> None:
        try:
            for number in range(KILL_COUNT):
                if number in self.services:
                    self._cut(self.services[number])
                self._kill(self.random.choice(self.deployment.daemons))
                self.finished.wait(BETWEEN_KILLS_S)
        finally:
            self.finished.set()

    def _cut(self, service: Proxy) -> None:
        service.cut()
        self.finished.wait(OUTAGE_S)
        service.restore()
        self.finished.wait(BETWEEN_KILLS_S)

    def _kill(self, victim: DaemonProcess) -> None:
        victim.kill()
        self.killed_daemons.append(victim.log.stem)
        self.finished.wait(self.random.uniform(0, 1))
        victim.start(wait=False)


@pytest.fixture
def proxied(deploy: Deploy, rabbit_url: str) -> Iterator[Proxied]:
    """Makes deployments that reach database and bus by ways which can be cut."""
    with ExitStack() as stack:

        def make(url: str, concurrency: str) -> tuple[ServiceDeployment, Proxy, Proxy]:
            port = 3306 if url.startswith("mysql") else 5432
            database = stack.enter_context(Proxy(url, default_port=port))
            broker = stack.enter_context(Proxy(rabbit_url, default_port=5672))
            deployment = deploy(
                url,
                concurrency=concurrency,
                connection_url=database.url,
                transport_url=broker.url,
            )
            return deployment, database, broker

        yield make


@pytest.mark.parametrize(
    ("database", "concurrency"), [("mariadb", "eventlet"), ("postgresql", "threading")]
)
def test_nothing_is_lost_doubled_or_orphaned(
    database: str,
    concurrency: str,
    cloud: Path,
    proxied: Proxied,
    request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    deployment, data, bus = proxied(url, concurrency)
    deployment.start(engines=2, observers=2)
    trouble = OutageInjector(
        deployment, {KILL_COUNT // 3: bus, 2 * KILL_COUNT // 3: data}, Random(SEED)
    )
    users = run_users(deployment, trouble, url)
    assert len(trouble.killed_daemons) == KILL_COUNT
    assert_account_is_right(users, url, FileCloudAudit.of_directory(cloud))
    _no_deadlock(deployment, url)


def _is_deadlock(line: str) -> bool:
    return PREPARED_AGAIN not in line and any(text in line for text in DEADLOCKS)


def _no_deadlock(deployment: ServiceDeployment, url: str) -> None:
    counts = {
        str(daemon.log): sum(map(_is_deadlock, daemon.log.read_text().splitlines()))
        for daemon in deployment.daemons
    }
    assert sum(counts.values()) == 0, counts
    if url.startswith("postgresql"):
        counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert query_rows(url, counted) == [(0,)]
