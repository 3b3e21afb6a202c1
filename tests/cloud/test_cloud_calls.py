"""The calls to a real cloud that typical stacks cost, those for tokens included.

``tests/end_to_end/test_calls_of_a_stack.py`` asserts the same of the emulated cloud; here are the
numbers that a real one causes by the time it takes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.forward_proxy import ForwardProxy
from tests.cloud.testbed import CloudTestbed, DeployedService
from tests.end_to_end.test_calls_of_a_stack import SERVERS, group_of_servers, seven_types

USER = "demo"
FLAVOR = "m1.nano"
TIMEOUT_S = 600.0


@pytest.fixture(scope="module")
def proxy() -> Iterator[ForwardProxy]:
    proxy = ForwardProxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def service(deploy: Callable[..., DeployedService], proxy: ForwardProxy) -> DeployedService:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in proxy.environment.items():
            patch.setenv(name, value)
        # The daemons inherit the environment; the calls of the watch belong to no request.
        patch.setenv("NO_PROXY", "")
        return deploy(sections={"drift": {"enabled": False}})


@pytest.fixture
def session(cloud_testbed: CloudTestbed, service: DeployedService) -> Any:
    session = cloud_testbed.session(USER)
    service.request(session, "GET", "/stacks")
    return session


def create(
    service: DeployedService, session: Any, proxy: ForwardProxy, name: str, template: Any
) -> tuple[Counter[str], float]:
    """Return the calls of a create and the seconds that it took."""
    before, started_s = Counter(proxy.counts), time.monotonic()
    service.create_stack(session, name, template)
    status, reason = service.wait_until_done(session, name, within_s=TIMEOUT_S)
    seconds, calls = time.monotonic() - started_s, proxy.counts - before
    print(f"{name}: {seconds:.1f} s, {calls.total()} calls", *calls.most_common(), sep="\n")
    assert status == "CREATE_COMPLETE", reason
    return calls, seconds


def bare_seconds(cloud_testbed: CloudTestbed, region: str) -> float:
    """Return the seconds that the same ten servers take without an orchestration service."""
    connection = cloud_testbed.connection(USER, region)
    started_s = time.monotonic()
    network = connection.network.create_network(name="bare")
    connection.network.create_subnet(
        network_id=network.id, cidr="10.64.0.0/22", ip_version=4, name="bare"
    )
    flavor = connection.compute.find_flavor(FLAVOR)
    image = connection.image.find_image("cirros")

    def boot(number: int) -> Any:
        return connection.compute.create_server(
            name=f"bare-{number}", flavor_id=flavor.id, image_id=image.id,
            networks=[{"uuid": network.id}],
        )  # fmt: skip

    with ThreadPoolExecutor(SERVERS) as pool:
        servers = list(pool.map(boot, range(SERVERS)))
    own = {server.id for server in servers}

    def are_active() -> bool:
        found = [each for each in connection.compute.servers() if each.id in own]
        return [each.status for each in found] == ["ACTIVE"] * SERVERS

    wait_until(are_active, "the servers are active", timeout_s=TIMEOUT_S)
    seconds = time.monotonic() - started_s
    for server in servers:
        connection.compute.delete_server(server)
    for server in servers:
        connection.compute.wait_for_delete(server, wait=TIMEOUT_S)
    connection.network.delete_network(network)
    return seconds


@pytest.mark.timeout(3 * TIMEOUT_S)
def test_calls_of_ten_servers(
    cloud_testbed: CloudTestbed, service: DeployedService, session: Any, proxy: ForwardProxy
) -> None:
    try:
        cold, _ = create(service, session, proxy, "calls-cold", group_of_servers())
        service.delete_stack(session, "calls-cold")
        bare_s = bare_seconds(cloud_testbed, service.region)
        warm, seconds = create(service, session, proxy, "calls-warm", group_of_servers())
        print(f"bare calls: {bare_s:.1f} s; {seconds / bare_s:.2f} times as long")
        before = Counter(proxy.counts)
        _update(service, session, "calls-warm", group_of_servers())
        unchanged = proxy.counts - before
        print("update without a change:", *unchanged.most_common(), sep="\n")
        assert unchanged.total() <= 5
        assert _without_polls(warm).total() <= 24
        assert _without_polls(cold).total() <= 28
    finally:
        service.delete_stack(session, "calls-warm")


@pytest.mark.timeout(3 * TIMEOUT_S)
def test_calls_of_seven_types_on_the_cloud(
    service: DeployedService, session: Any, proxy: ForwardProxy
) -> None:
    try:
        create(service, session, proxy, "calls-seven-first", seven_types())
        calls, _ = create(service, session, proxy, "calls-seven", seven_types())
        assert _without_polls(calls).total() <= 22
    finally:
        for name in ("calls-seven-first", "calls-seven"):
            service.delete_stack(session, name)


def _without_polls(calls: Counter[str]) -> Counter[str]:
    """Leave out the reads whose number depends on the time that the cloud takes."""
    polls = ("GET /v2.1/servers/", "GET /v3/ID/volumes/")
    return Counter(
        {key: number for key, number in calls.items() if not any(one in key for one in polls)}
    )


def _update(service: DeployedService, session: Any, name: str, template: Any) -> None:
    stack = service.request(session, "GET", f"/stacks/{name}").json()["stack"]
    path = f"/stacks/{name}/{stack['id']}"
    answer = service.request(session, "PUT", path, {"template": template})
    assert answer.status_code == 202, answer.text
    assert service.wait_until_done(session, name)[0] == "UPDATE_COMPLETE"
