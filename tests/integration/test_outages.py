"""A database or a broker that is away when the daemons start, or goes away later.

The daemons wait and come back by themselves, the API answers 503 for want of a
database, and nothing that was accepted is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from heatclient.exc import HTTPServiceUnavailable

from heat_convergence.testing.daemons import API, ENGINE, OBSERVER, Deployment, wait_until
from tests.integration.conftest import Deploy
from tests.integration.harness import assert_each_once, slow_template, some_are_ready, user_of
from tests.integration.proxy import Proxy

COUNT = 80
WAIT_S = 0.5


@pytest.fixture(params=["mariadb", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def database(database_url: str) -> Iterator[Proxy]:
    port = 3306 if database_url.startswith("mysql") else 5432
    with Proxy(database_url, default_port=port) as proxy:
        yield proxy


@pytest.fixture
def broker(rabbit_url: str) -> Iterator[Proxy]:
    with Proxy(rabbit_url, default_port=5672) as proxy:
        yield proxy


@pytest.fixture
def deployment(
    deploy: Deploy, database_url: str, database: Proxy, broker: Proxy
) -> Deployment:
    return deploy(database_url, reached_at=database.url, transport_url=broker.url)


def test_both_come_later_than_the_daemons(
    deployment: Deployment, database: Proxy, broker: Proxy, database_url: str
) -> None:
    database.cut()
    broker.cut()
    for kind in (API, ENGINE, OBSERVER):
        deployment.add(kind).start(wait=False)
    (api,) = deployment.of(API)
    api.wait_started()
    user = user_of(deployment)
    with pytest.raises(HTTPServiceUnavailable):
        user.create("early", slow_template(COUNT, 0))
    _wait_for(deployment, "waiting for the database")
    database.restore()
    # Accepted without a broker: the sweep finds the jobs once there is one.
    user.create("late", slow_template(COUNT, 0))
    broker.restore()
    for daemon in deployment.daemons:
        daemon.wait_started()
    user.wait("late", "CREATE_COMPLETE")
    assert_each_once(database_url, user, "late", COUNT)


def test_the_database_goes_away_and_comes_back(
    deployment: Deployment, database: Proxy, database_url: str
) -> None:
    user = user_of(deployment.start())
    user.create("big", slow_template(COUNT, WAIT_S))
    some_are_ready(database_url, COUNT // 10)
    database.cut()
    with pytest.raises(HTTPServiceUnavailable):
        user.status("big")
    database.restore()
    user.wait("big", "CREATE_COMPLETE")
    assert_each_once(database_url, user, "big", COUNT)


def test_the_broker_goes_away_and_comes_back(
    deployment: Deployment, broker: Proxy, database_url: str
) -> None:
    user = user_of(deployment.start())
    user.create("big", slow_template(COUNT, WAIT_S))
    some_are_ready(database_url, COUNT // 10)
    broker.cut()
    user.create("meanwhile", slow_template(4, 0))
    broker.restore()
    user.wait("big", "CREATE_COMPLETE")
    user.wait("meanwhile", "CREATE_COMPLETE")
    assert all(daemon.running() for daemon in deployment.daemons)
    assert len(user.resources("big")) == COUNT


def _wait_for(deployment: Deployment, text: str) -> None:
    for kind in (ENGINE, OBSERVER):
        (daemon,) = deployment.of(kind)
        wait_until(lambda it=daemon: it.said(text), f"{kind} says {text!r}")
