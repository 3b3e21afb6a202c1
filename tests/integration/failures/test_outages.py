"""A database or a broker that is away when the daemons start, or goes away later.

The daemons wait and come back by themselves, the API answers 503 for want of a
database, and nothing that was accepted is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from heatclient.exc import HTTPServiceUnavailable

from heat_convergence.testing.daemon_processes import (
    API,
    ENGINE,
    OBSERVER,
    ServiceDeployment,
    wait_until,
)
from tests.integration.conftest import Deploy
from tests.integration.harness import (
    assert_each_once,
    is_ready,
    slow_template,
    user_for,
    wait_until_more_ready,
)
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
) -> ServiceDeployment:
    return deploy(database_url, connection_url=database.url, transport_url=broker.url)


def test_both_come_later_than_the_daemons(
    deployment: ServiceDeployment, database: Proxy, broker: Proxy, database_url: str
) -> None:
    database.cut()
    broker.cut()
    for role in (API, ENGINE, OBSERVER):
        deployment.add_daemon(role).start(wait=False)
    (api,) = deployment.daemons_with_role(API)
    api.wait_until_started()
    user = user_for(deployment)
    with pytest.raises(HTTPServiceUnavailable):
        user.create("early", slow_template(COUNT, 0))
    _wait_for(deployment, "waiting for the database")
    database.restore()
    wait_until(lambda: is_ready(deployment.endpoint), "the API is ready")
    # Accepted without a broker: the sweep finds the jobs once there is one.
    user.create("late", slow_template(COUNT, 0))
    broker.restore()
    for daemon in deployment.daemons:
        daemon.wait_until_started()
    user.wait_for_status("late", "CREATE_COMPLETE")
    assert_each_once(database_url, user, "late", COUNT)


def test_the_database_goes_away_and_comes_back(
    deployment: ServiceDeployment, database: Proxy, database_url: str
) -> None:
    user = user_for(deployment.start())
    user.create("big", slow_template(COUNT, WAIT_S))
    wait_until_more_ready(database_url, COUNT // 10)
    database.cut()
    with pytest.raises(HTTPServiceUnavailable):
        user.status("big")
    database.restore()
    user.wait_for_status("big", "CREATE_COMPLETE")
    assert_each_once(database_url, user, "big", COUNT)


def test_the_broker_goes_away_and_comes_back(
    deployment: ServiceDeployment, broker: Proxy, database_url: str
) -> None:
    user = user_for(deployment.start())
    user.create("big", slow_template(COUNT, WAIT_S))
    wait_until_more_ready(database_url, COUNT // 10)
    broker.cut()
    user.create("meanwhile", slow_template(4, 0))
    broker.restore()
    user.wait_for_status("big", "CREATE_COMPLETE")
    user.wait_for_status("meanwhile", "CREATE_COMPLETE")
    assert all(daemon.is_running() for daemon in deployment.daemons)
    assert len(user.resources("big")) == COUNT


def _wait_for(deployment: ServiceDeployment, text: str) -> None:
    for role in (ENGINE, OBSERVER):
        (daemon,) = deployment.daemons_with_role(role)
        wait_until(lambda it=daemon: it.count_in_log(text), f"{role} logs {text!r}")
