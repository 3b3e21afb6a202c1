"""Tests of dependencies that no reference expresses."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.implicit_dependencies import add_implicit_dependencies
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from tests.installed_types import REGISTRY


def ref(name: str) -> Expression:
    return Expression("get_resource", "standard", name)


def requires(**resources: tuple[Any, ...]) -> dict[str, set[str]]:
    """Return name → required names, of resources given as (type, properties, requires)."""
    definitions, types = {}, {}
    for name, (type_name, properties, *needs) in resources.items():
        types[name] = f"OS::{type_name}"
        definitions[name] = ResourceDefinition(
            name=name, type=types[name], properties=properties, requires=frozenset(*needs)
        )
    found = add_implicit_dependencies(definitions, types, REGISTRY)
    return {name: set(one.requires) for name, one in found.items()}


def test_port_requires_subnets_of_its_network() -> None:
    found = requires(
        one=("Neutron::Subnet", {"network": ref("net")}, ["net"]),
        old=("Neutron::Subnet", {"network_id": ref("net")}, ["net"]),
        other=("Neutron::Subnet", {"network": ref("another")}, ["another"]),
        port=("Neutron::Port", {"network": ref("net")}, ["net"]),
        net=("Neutron::Net", {}),
    )
    assert found["port"] == {"net", "one", "old"}


def test_server_requires_subnets_of_its_networks() -> None:
    found = requires(
        subnet=("Neutron::Subnet", {"network": "given"}),
        server=("Nova::Server", {"networks": [{"network": "given"}]}),
        none=("Nova::Server", {"networks": [{"port": ref("port")}]}, ["port"]),
    )
    assert found["server"] == {"subnet"}
    assert found["none"] == {"port"}


def test_floating_ip_on_a_port_requires_router_interfaces() -> None:
    found = requires(
        link=("Neutron::RouterInterface", {"router": "r", "subnet": "s"}),
        ip=("Neutron::FloatingIP", {"floating_network": "public", "port_id": ref("port")}),
        free=("Neutron::FloatingIP", {"floating_network": "public"}),
        router=("Neutron::Router", {"external_gateway_info": {"network": "public"}}),
    )
    assert found["ip"] == {"link", "router"}
    assert found["free"] == {"router"}


def test_edge_that_closes_a_cycle_is_left_out() -> None:
    found = requires(
        subnet=("Neutron::Subnet", {"network": "n", "host_routes": [ref("port")]}, ["port"]),
        port=("Neutron::Port", {"network": "n"}),
    )
    assert found == {"subnet": {"port"}, "port": set()}
