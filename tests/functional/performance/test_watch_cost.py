"""The watch of thousands of resources: calls and statements of an idle one, and mass losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings, MassLossLimits
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.drift.drift_cases import INTERVAL_S, watch
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    emulation_service,
    port,
    server,
    template,
)
from tests.functional.performance.copied_resources import copy_resource, copy_stack, count_rows

Json = Any
PROJECTS = [f"p{number}" for number in range(5)]
STACKS_PER_PROJECT = 20
TYPES = 12
MINUTES = 10
SERVERS = 4_000
BUDGET = RepairLimits(per_stack=20, per_project=20)


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(tmp_path: Path, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path)
    service.use_settings(watch_interval_s=INTERVAL_S)
    yield service
    service.close()


def resources_of_twelve_types() -> Json:
    """Return a template of 20 resources of 12 types that are read."""
    plain = {
        "router": "OS::Neutron::Router",
        "group": "OS::Neutron::SecurityGroup",
        "scope": "OS::Neutron::AddressScope",
        "qos": "OS::Neutron::QoSPolicy",
        "servers": "OS::Nova::ServerGroup",
    }
    nets = {f"net{number}": {"type": "OS::Neutron::Net"} for number in range(8)}
    return template(
        **{name: {"type": each} for name, each in plain.items()},
        **nets,
        volume={"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        snapshot={
            "type": "OS::Neutron::SubnetPool",
            "properties": {"prefixes": ["10.0.0.0/8"]},
        },
        address={"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "public"}},
        port=port(),
        server=server(),
    )


def run(service: LocalService, seconds: float) -> None:
    for _ in range(int(seconds / INTERVAL_S)):
        service.clock.advance(INTERVAL_S)
        service.watch.tick()
        service.run_until_idle()


def test_idle_watch_of_2000_resources_in_100_stacks(service, emulated_cloud):
    for project in PROJECTS:
        body = {"stack_name": "s", "template": resources_of_twelve_types()}
        answer = service.send("POST", "/stacks", body, project=project)
        assert answer.status_int == 201, answer.text
        path = f"/stacks/s/{answer.json['stack']['id']}"
        for number in range(STACKS_PER_PROJECT - 1):
            copy_stack(service, emulated_cloud.emulation, path, f"s{number}")
    assert count_rows(service) == 2000
    watch(service, 600)
    emulated_cloud.emulation.request_counts.clear()
    with count_statements(service.database.engine) as statements:
        for _ in range(int(MINUTES * 60 / INTERVAL_S)):
            service.clock.advance(INTERVAL_S)
            service.watch.tick()
    calls: Counter[str] = Counter()
    for request, number in emulated_cloud.emulation.request_counts.items():
        calls[request.split("?")[0]] += number
    assert len(calls) == TYPES
    assert all(each.startswith("GET") for each in calls)
    assert max(calls.values()) <= MINUTES * len(PROJECTS)  # one a minute, type and project
    groups = TYPES * len(PROJECTS)
    assert statements.total <= MINUTES * groups * 12  # of any number of resources


@pytest.fixture
def servers(service, emulated_cloud) -> list[str]:
    """Return ids of 4,000 servers of a stack that the service repairs by itself."""
    drift = DriftSettings(repairs=BUDGET, mass_loss=MassLossLimits())
    service.use_settings(drift=drift)
    policies = {"resource_registry": {"resources": {"*": {"drift": {"policy": "repair"}}}}}
    body = template(server=server(networks=[{"network": {"get_resource": "net"}}]))
    path = create_stack(service, body, environment=policies)
    found = copy_resource(service, emulated_cloud.emulation, path, "server", SERVERS - 1)
    watch(service, 60)
    emulated_cloud.emulation.request_counts.clear()
    return found


def breakers(service: LocalService) -> list[Json]:
    return list(service.send("GET", "/drift/breakers").json["breakers"])


def created_servers(cloud: ClockedEmulation) -> int:
    return cloud.emulation.request_counts["POST compute /servers"]


def test_unreachable_cell_of_servers_is_not_rebuilt(service, emulated_cloud, servers):
    collection = emulated_cloud.emulation.collection("nova.server")
    unreachable = set(servers[:1600])
    cell = [each for each in collection.bodies() if each["id"] in unreachable]
    for each in cell:
        collection.remove(each["id"])
    run(service, 180)
    (found,) = breakers(service)
    assert (found["lost"], found["total"]) == (len(cell), SERVERS)
    assert created_servers(emulated_cloud) == 0
    for each in cell:
        collection.add(each)
    run(service, 180)
    assert breakers(service) == []
    assert created_servers(emulated_cloud) == 0


def test_300_lost_servers_are_repaired_within_the_budget(service, emulated_cloud, servers):
    """More are lost than one read confirms, and fewer than the breaker distrusts."""
    for each in servers[:300]:
        emulated_cloud.emulation.remove(each)
    run(service, 120)
    assert breakers(service) == []
    assert created_servers(emulated_cloud) == BUDGET.per_stack
