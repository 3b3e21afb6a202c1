"""Updates of a server's networks: which interfaces stay, and when the update is complete."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.failures import Conflict
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.functional.openstack_types.driver_bench import DriverBench, server

Json = Any
MAX_CALLS = 10


class NetworkBench(DriverBench):
    """An emulated cloud with a network, and a server on it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = self._create("OS::Neutron::Net", {"name": "the_net"})
        first = {"network": self.net, "cidr": "11.11.11.0/24"}
        second = {"network": self.net, "cidr": "12.12.12.0/24"}
        self.subnet = self._create("OS::Neutron::Subnet", first)
        self.other_subnet = self._create("OS::Neutron::Subnet", second)

    def _create(self, type_name: str, properties: dict[str, Json]) -> str:
        created = self.create(self.context(type_name, properties)).physical_id
        assert created is not None
        return created

    def named(self, networks: list[dict[str, str]]) -> list[dict[str, str]]:
        """Return the networks with ids for the names of this class's attributes."""
        ids = {name: getattr(self, name, name) for entry in networks for name in entry.values()}
        return [{key: ids[value] for key, value in entry.items()} for entry in networks]

    def start(self, networks: list[dict[str, str]]) -> ResourceContext:
        """Create a server and wait until it shows its addresses."""
        context = self.create(server(self, networks=self.named(networks)))
        self.emulation.advance(10.0)
        return context

    def update(self, context: ResourceContext, networks: list[dict[str, str]]) -> ResourceContext:
        """Repeat the update as an engine does; return the context that it leaves."""
        resource_type = self.registry.get(context.type)
        raw = {**context.properties, "networks": self.named(networks)}
        after = resolve_properties(resource_type.schema, raw)
        context = replace(context, action=Action.UPDATE)
        for _ in range(MAX_CALLS):
            try:
                result = resource_type.update(context, after, frozenset({"networks"}))
            except Conflict:
                self.emulation.advance(1.0)
                continue
            return replace(context, properties=after, data=result.data or {})
        raise AssertionError("the update does not end")

    def ports(self) -> list[dict[str, Json]]:
        """Return the bodies of all ports."""
        return [dict(body) for body in self.emulation.collection("neutron.port").bodies()]

    def addresses(self, context: ResourceContext) -> list[str]:
        """Return the addresses that the server shows."""
        shown = self.registry.get(context.type).observe(context).attributes["show"]["addresses"]
        return [item["addr"] for item in shown.get("the_net", ())]


@pytest.fixture
def bench() -> NetworkBench:
    return NetworkBench()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"network": "net"}], [{"subnet": "subnet"}]),
        ([{"subnet": "subnet"}], [{"network": "net"}]),
        ([{"network": "net"}], [{"network": "net", "subnet": "subnet"}]),
        (
            [
                {"network": "net"},
                {"network": "net", "fixed_ip": "11.11.11.33"},
                {"subnet": "subnet"},
            ],
            [{"subnet": "subnet"}, {"network": "net"}, {"network": "net", "subnet": "subnet"}],
        ),
    ],
    ids=["to a subnet", "from a subnet", "add a subnet", "several at once"],
)
def test_ports_that_fit_the_new_networks_stay(
    bench: NetworkBench, before: list[dict[str, str]], after: list[dict[str, str]]
) -> None:
    context = bench.start(before)
    ports, addresses = bench.ports(), bench.addresses(context)
    context = bench.update(context, after)
    assert [port["id"] for port in bench.ports()] == [port["id"] for port in ports]
    assert bench.addresses(context) == addresses


def test_update_ends_when_the_server_shows_its_new_address(bench: NetworkBench) -> None:
    context = bench.start([{"subnet": "subnet"}])
    assert bench.addresses(context)[0].startswith("11.11.11.")
    context = bench.update(context, [{"subnet": "other_subnet"}])
    (address,) = bench.addresses(context)
    assert address.startswith("12.12.12.")
    (port,) = bench.ports()
    assert port["fixed_ips"][0]["ip_address"] == address


def test_managed_port_of_an_unmanaged_network_is_deleted_with_the_server(
    bench: NetworkBench,
) -> None:
    """Otherwise it would keep its subnet from being deleted."""
    context = bench.start([{"subnet": "subnet"}])
    context = bench.update(context, [{"network": "net"}])
    assert len(bench.ports()) == 1
    resource_type = bench.registry.get(context.type)
    context = replace(context, action=Action.DELETE)
    result = resource_type.delete(context)
    bench.emulation.advance(10.0)
    resource_type.observe(replace(context, data=result.data or context.data))
    assert bench.ports() == []
