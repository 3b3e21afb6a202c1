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
from heat_convergence.testing.daemons import Daemon, Deployment, TooLate
from heat_convergence.testing.file_cloud import Account
from tests.integration.conftest import Deploy
from tests.integration.crowd import Goal, Owner, values
from tests.integration.harness import rows, user_of
from tests.integration.proxy import Proxy

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_SEED", "4"))
OWNERS = 6
KILLS = 9
BETWEEN_KILLS_S = 2.5
AWAY_S = 2.0
PAUSE_S = 0.7  # of an owner between two requests
DEADLOCKS = ("deadlock", "Deadlock", "gave way")

Proxied = Callable[[str, str], tuple[Deployment, Proxy, Proxy]]


@dataclass(slots=True)
class Trouble:
    """Kills one daemon after the other and, once each, cuts off bus and database."""

    deployment: Deployment
    services: dict[int, Proxy]  # before which kill
    random: Random
    over: threading.Event = field(default_factory=threading.Event)
    killed: list[str] = field(default_factory=list)

    def make(self) -> None:
        try:
            for number in range(KILLS):
                if number in self.services:
                    self._cut(self.services[number])
                self._kill(self.random.choice(self.deployment.daemons))
                self.over.wait(BETWEEN_KILLS_S)
        finally:
            self.over.set()

    def _cut(self, service: Proxy) -> None:
        service.cut()
        self.over.wait(AWAY_S)
        service.restore()
        self.over.wait(BETWEEN_KILLS_S)

    def _kill(self, victim: Daemon) -> None:
        victim.kill()
        self.killed.append(victim.log.stem)
        self.over.wait(self.random.uniform(0, 1))
        victim.start(wait=False)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cloud that daemons started from here share."""
    folder = tmp_path / "cloud"
    monkeypatch.setenv(file_cloud.FOLDER_VARIABLE, str(folder))
    monkeypatch.setenv("PYTHONPATH", str(file_cloud.declare(tmp_path / "plugin")))
    return folder


@pytest.fixture
def proxied(deploy: Deploy, rabbit_url: str) -> Iterator[Proxied]:
    """Makes deployments that reach database and bus by ways which can be cut."""
    with ExitStack() as stack:

        def make(url: str, concurrency: str) -> tuple[Deployment, Proxy, Proxy]:
            port = 3306 if url.startswith("mysql") else 5432
            database = stack.enter_context(Proxy(url, default_port=port))
            broker = stack.enter_context(Proxy(rabbit_url, default_port=5672))
            deployment = deploy(
                url,
                concurrency=concurrency,
                reached_at=database.url,
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
    trouble = Trouble(deployment, {KILLS // 3: bus, 2 * KILLS // 3: data}, Random(SEED))
    owners = [
        Owner(number, Random(SEED * 1000 + number), user_of(deployment))
        for number in range(OWNERS)
    ]
    with ThreadPoolExecutor(OWNERS + 1) as pool:
        running = [pool.submit(trouble.make)]
        running += [pool.submit(_live, owner, trouble.over) for owner in owners]
        for one in running:
            one.result()
    assert len(trouble.killed) == KILLS
    try:
        _settled(owners)
    except (AssertionError, TooLate) as error:
        raise AssertionError(f"{error}\n{_unfinished(url)}") from error
    _account_is_right(owners, url, Account.of(cloud))
    _no_deadlock(deployment, url)


def _live(owner: Owner, over: threading.Event) -> None:
    pause = threading.Event().wait  # also when all is over: what was begun is ended
    while not over.is_set():
        owner.act(lambda: pause(0.2))
        over.wait(owner.random.uniform(0, 2 * PAUSE_S))


def _settled(owners: list[Owner]) -> None:
    for owner in owners:
        if owner.stack_id is not None:
            owner.user.wait_complete(owner.stack_id)
        for stack_id in owner.past:
            owner.user.wait_gone(stack_id)


def _unfinished(url: str) -> str:
    """What the rows say of stacks and resources that are not done."""
    stacks = rows(
        url,
        "SELECT id, name, version, action, status, status_reason, begun_at, deadline_at"
        " FROM stack WHERE status <> 'COMPLETE'",
    )
    jobs = rows(
        url,
        "SELECT stack_id, id, name, version, desired, job, job_state, action, status, observed,"
        " status_reason, posted_at, observe_at, lease_expires_at, holds"
        " FROM resource WHERE job IS NOT NULL ORDER BY stack_id, id",
    )
    edges = rows(
        url,
        "SELECT resource_id, needed_by, stack_id, version, observed_ready FROM resource_graph"
        " WHERE stack_id IN (SELECT id FROM stack WHERE status <> 'COMPLETE')",
    )
    return "\n".join(str(row) for row in (*stacks, *jobs, *edges))


def _account_is_right(owners: list[Owner], url: str, account: Account) -> None:
    used: dict[str, str] = {}
    for owner in owners:
        if owner.goal is None or owner.stack_id is None:
            continue
        found = owner.user.resources(owner.stack_id)
        assert sorted(found) == sorted(owner.goal)
        used |= {one.physical_resource_id: f"{owner.name} {name}" for name, one in found.items()}
        assert _told(found, account) == _expected(owner.goal)
    assert account.there.keys() - used.keys() == set(), "orphaned"
    assert account.doubled() == []
    left = rows(url, "SELECT physical_id FROM resource")
    assert sorted(row[0] for row in left) == sorted(used)


Held = dict[str, tuple[str, str] | None]


def _told(found: dict[str, Any], account: Account) -> Held:
    there = {name: account.there.get(one.physical_resource_id) for name, one in found.items()}
    return {name: one and (one["value"], one["kind"]) for name, one in there.items()}


def _expected(goal: Goal) -> Held:
    hold = values(goal, lambda text: hashlib.md5(text.encode()).hexdigest())
    return {name: (hold[name], one.kind) for name, one in goal.items()}


def _no_deadlock(deployment: Deployment, url: str) -> None:
    told = {str(daemon.log): max(map(daemon.said, DEADLOCKS)) for daemon in deployment.daemons}
    assert sum(told.values()) == 0, told
    if url.startswith("postgresql"):
        counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert rows(url, counted) == [(0,)]
