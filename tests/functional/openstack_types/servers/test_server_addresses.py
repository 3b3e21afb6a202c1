"""The attributes ``addresses`` and ``networks`` of servers: ports, subnets and keys by id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.functional.openstack_types.driver_bench import DriverBench, server

Json = Any
SERVER = "OS::Nova::Server"


class AddressBench(DriverBench):
    """An emulated cloud with a network and a subnet."""

    def __init__(self) -> None:
        super().__init__()
        self.net = self.physical_id("OS::Neutron::Net", {"name": "the_net"})
        cidr = {"network": self.net, "cidr": "11.11.11.0/24"}
        self.subnet = self.physical_id("OS::Neutron::Subnet", cidr)

    def physical_id(self, type_name: str, properties: dict[str, Json]) -> str:
        """Create a resource and return its physical id."""
        created = self.create(self.context(type_name, properties)).physical_id
        assert created is not None
        return created

    def start(self, **fields: Json) -> ResourceContext:
        """Create a server on the network."""
        return self.create(server(self, **{"networks": [{"network": self.net}], **fields}))

    def observe(self, *contexts: ResourceContext) -> list[ResourceContext]:
        """Observe ready servers together; return the contexts with their attributes."""
        self.emulation.advance(10.0)
        results = self.registry.get(SERVER).observe_many(contexts)
        observed = [results[context.resource_id] for context in contexts]
        assert {result.observed for result in observed} == {ObservedState.READY}
        return [
            replace(context, attributes=result.attributes or {})
            for context, result in zip(contexts, observed, strict=True)
        ]

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute."""
        return self.registry.get(SERVER).attribute(context, name)

    def port(self) -> dict[str, Json]:
        """Return the body of the only port."""
        (body,) = self.emulation.collection("neutron.port").bodies()
        return body


@pytest.fixture
def bench() -> AddressBench:
    return AddressBench()


def test_addresses_have_port_subnets_and_network(bench: AddressBench) -> None:
    (context,) = bench.observe(bench.start())
    addresses, port = bench.attribute(context, "addresses"), bench.port()
    assert list(addresses) == ["the_net", bench.net]
    assert addresses["the_net"] == addresses[bench.net]
    (entry,) = addresses["the_net"]
    assert entry.pop("network")["id"] == bench.net
    (subnet,) = entry.pop("subnets")
    assert (subnet["id"], subnet["cidr"]) == (bench.subnet, "11.11.11.0/24")
    assert entry == {
        "addr": port["fixed_ips"][0]["ip_address"],
        "version": [4],
        "OS-EXT-IPS:type": "fixed",
        "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
        "port": port["id"],
    }


def test_networks_have_names_and_ids(bench: AddressBench) -> None:
    (context,) = bench.observe(bench.start())
    address = bench.port()["fixed_ips"][0]["ip_address"]
    networks = bench.attribute(context, "networks")
    assert list(networks.items()) == [("the_net", [address]), (bench.net, [address])]
    assert bench.attribute(context, "first_address") == address


def test_floating_address_comes_before_its_fixed_one(bench: AddressBench) -> None:
    port_id = bench.physical_id("OS::Neutron::Port", {"network": bench.net})
    bench.physical_id(
        "OS::Neutron::FloatingIP", {"floating_network": "public", "port_id": port_id}
    )
    (context,) = bench.observe(bench.start(networks=[{"port": port_id}]))
    first, second = bench.attribute(context, "addresses")["the_net"]
    assert first["addr"].startswith("172.24.5.")
    assert (first["OS-EXT-IPS:type"], first["port"]) == ("floating", None)
    assert (second["OS-EXT-IPS:type"], second["port"]) == ("fixed", bench.port()["id"])


@pytest.mark.parametrize(("number", "lists"), [(40, 1), (120, 3)])
def test_servers_share_the_list_calls(bench: AddressBench, number: int, lists: int) -> None:
    contexts = [bench.start() for _ in range(number)]
    bench.emulation.advance(10.0)
    before = bench.emulation.count_requests("GET", "network")
    observed = bench.observe(*contexts)
    # Ports of fifty servers at a time, networks and subnets.
    assert bench.emulation.count_requests("GET", "network") - before == lists + 2
    ports = {bench.attribute(each, "addresses")["the_net"][0]["port"] for each in observed}
    assert len(ports) == number
    later = [replace(context, action=Action.UPDATE) for context in observed]
    bench.observe(*later)  # ports and floating addresses, networks and subnets are known
    assert bench.emulation.count_requests("GET", "network") - before == 3 * lists + 2


def test_ports_of_another_project_are_shown_among_many_servers(bench: AddressBench) -> None:
    """A port may belong to the project of its network."""
    contexts = [bench.start() for _ in range(60)]
    for port in bench.emulation.collection("neutron.port").bodies():
        port["project_id"] = port["tenant_id"] = "another"
    observed = bench.observe(*contexts)
    assert all(bench.attribute(each, "addresses")["the_net"][0]["port"] for each in observed)


def test_server_on_its_way_reads_no_port(bench: AddressBench) -> None:
    context = bench.start()
    before = bench.emulation.count_requests("GET", "network")
    results = bench.registry.get(SERVER).observe_many([context])
    assert results[context.resource_id].observed is ObservedState.BUSY
    assert bench.emulation.count_requests("GET", "network") == before


@pytest.mark.parametrize("status", [403, 503])
def test_failing_neutron_fails_no_server(bench: AddressBench, status: int) -> None:
    """The addresses are then those that Nova shows."""
    context = bench.start()
    bench.emulation.inject_failure("GET", "/ports", status, times=50)
    (context,) = bench.observe(context)
    (entry,) = bench.attribute(context, "addresses")["the_net"]
    assert entry["addr"] == bench.port()["fixed_ips"][0]["ip_address"]
    assert bench.attribute(context, "networks") == {"the_net": [entry["addr"]]}


def test_check_reads_the_ports(bench: AddressBench) -> None:
    (context,) = bench.observe(bench.start())
    bench.physical_id(
        "OS::Neutron::FloatingIP",
        {"floating_network": "public", "port_id": bench.port()["id"]},
    )
    result = bench.registry.get(SERVER).check(replace(context, action=Action.CHECK))
    assert result is not None
    context = replace(context, attributes=result.attributes or {})
    assert len(bench.attribute(context, "addresses")["the_net"]) == 2


def test_other_verbs_keep_the_ports(bench: AddressBench) -> None:
    """An update does not read them; it must not lose what the observer has read."""
    (context,) = bench.observe(bench.start())
    before = bench.attribute(context, "addresses")
    server_type = bench.registry.get(SERVER)
    after = {**context.properties, "name": "new"}
    result = server_type.update(replace(context, action=Action.UPDATE), after, frozenset({"name"}))
    context = replace(context, attributes=result.attributes or {})
    assert bench.attribute(context, "addresses") == before


def test_changed_interface_is_read_again(bench: AddressBench) -> None:
    (context,) = bench.observe(bench.start())
    port = bench.port()
    other = bench.physical_id("OS::Neutron::Port", {"network": bench.net})
    bench.emulation.collection("neutron.port").remove(port["id"])
    bench.port()["device_id"] = context.physical_id
    (context,) = bench.observe(context)
    assert bench.attribute(context, "addresses")["the_net"][0]["port"] == other
