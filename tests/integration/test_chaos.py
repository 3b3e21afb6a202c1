"""Everything is killed and cut off while stacks are made, changed and deleted.

Seeded: who is killed when, and what the users ask for.  In the end each stack is
where its last accepted request wanted it, and the cloud, which keeps its own
account, holds exactly what the stacks say, each thing made once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heat_convergence.testing import file_cloud
from heat_convergence.testing.daemon_processes import DaemonProcess, ServiceDeployment, WaitTimeout
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.integration.conftest import Deploy
from tests.integration.harness import query_rows, user_for
from tests.integration.proxy import Proxy
from tests.integration.workload import Goal, WorkloadUser, expected_values

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_SEED", "4"))
USER_COUNT = 6
KILL_COUNT = 9
BETWEEN_KILLS_S = 2.5
OUTAGE_S = 2.0
PAUSE_S = 0.7  # of an owner between two requests
DEADLOCKS = ("deadlock", "Deadlock", "transaction retried after a conflict")

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
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cloud that daemons started from here share."""
    folder = tmp_path / "cloud"
    monkeypatch.setenv(file_cloud.FOLDER_VARIABLE, str(folder))
    plugin = file_cloud.write_entry_point(tmp_path / "plugin")
    monkeypatch.setenv("PYTHONPATH", str(plugin), prepend=os.pathsep)
    return folder


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


@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
@pytest.mark.parametrize("database", ["mariadb", "postgresql"])
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
    owners = [
        WorkloadUser(number, Random(SEED * 1000 + number), user_for(deployment))
        for number in range(USER_COUNT)
    ]
    with ThreadPoolExecutor(USER_COUNT + 1) as pool:
        running = [pool.submit(trouble.run)]
        running += [pool.submit(_live, owner, trouble.finished) for owner in owners]
        for one in running:
            one.result()
    assert len(trouble.killed_daemons) == KILL_COUNT
    try:
        _settled(owners)
    except (AssertionError, WaitTimeout) as error:
        raise AssertionError(f"{error}\n{_unfinished(url)}") from error
    _account_is_right(owners, url, FileCloudAudit.of_directory(cloud))
    _no_deadlock(deployment, url)


def _live(owner: WorkloadUser, over: threading.Event) -> None:
    pause = threading.Event().wait  # also when all is over: what was begun is ended
    while not over.is_set():
        owner.send_request(lambda: pause(0.2))
        over.wait(owner.random.uniform(0, 2 * PAUSE_S))


def _settled(owners: list[WorkloadUser]) -> None:
    for owner in owners:
        if owner.stack_id is not None:
            owner.user.wait_complete(owner.stack_id)
        for stack_id in owner.deleted_stack_ids:
            owner.user.wait_deleted(stack_id)


def _unfinished(url: str) -> str:
    """Return the rows of unfinished stacks, jobs and edges."""
    stacks = query_rows(
        url,
        "SELECT id, name, version, action, status, status_reason, begun_at, deadline_at"
        " FROM stack WHERE status <> 'COMPLETE'",
    )
    jobs = query_rows(
        url,
        "SELECT stack_id, id, name, version, desired, job, job_state, action, status, observed,"
        " status_reason, posted_at, observe_at, lease_expires_at, holds"
        " FROM resource WHERE job IS NOT NULL ORDER BY stack_id, id",
    )
    edges = query_rows(
        url,
        "SELECT resource_id, needed_by, stack_id, version, observed_ready FROM resource_graph"
        " WHERE stack_id IN (SELECT id FROM stack WHERE status <> 'COMPLETE')",
    )
    return "\n".join(str(row) for row in (*stacks, *jobs, *edges))


def _account_is_right(owners: list[WorkloadUser], url: str, account: FileCloudAudit) -> None:
    used: dict[str, str] = {}
    for owner in owners:
        if owner.goal is None or owner.stack_id is None:
            continue
        found = owner.user.resources(owner.stack_id)
        assert sorted(found) == sorted(owner.goal)
        used |= {one.physical_resource_id: f"{owner.name} {name}" for name, one in found.items()}
        assert _actual(found, account) == _expected(owner.goal)
    assert account.existing.keys() - used.keys() == set(), "orphaned"
    assert account.duplicated_names() == []
    left = query_rows(url, "SELECT physical_id FROM resource")
    assert sorted(row[0] for row in left) == sorted(used)


Held = dict[str, tuple[str, str] | None]


def _actual(found: dict[str, Any], account: FileCloudAudit) -> Held:
    there = {name: account.existing.get(one.physical_resource_id) for name, one in found.items()}
    return {name: one and (one["value"], one["kind"]) for name, one in there.items()}


def _expected(goal: Goal) -> Held:
    hold = expected_values(goal, lambda text: hashlib.md5(text.encode()).hexdigest())
    return {name: (hold[name], one.replace_key) for name, one in goal.items()}


def _no_deadlock(deployment: ServiceDeployment, url: str) -> None:
    counts = {
        str(daemon.log): max(map(daemon.count_in_log, DEADLOCKS)) for daemon in deployment.daemons
    }
    assert sum(counts.values()) == 0, counts
    if url.startswith("postgresql"):
        counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert query_rows(url, counted) == [(0,)]
