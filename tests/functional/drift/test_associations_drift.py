"""Drift of associations that have no list of their own: their objects' lists show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.drift.drift_cases import drift, entry, ours, watch
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
ROUTE = {"destination": "10.20.0.0/16", "nexthop": "10.90.0.9"}
SECOND = {"destination": "10.30.0.0/16", "nexthop": "10.90.0.9"}


def associations() -> Json:
    """Return a template with a gateway, two kinds of routes and a floating IP at a port."""
    router = {"get_resource": "router"}
    return template(
        router={"type": "OS::Neutron::Router"},
        interface={
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router": router, "subnet": {"get_resource": "subnet"}},
        },
        gateway={
            "type": "OS::Neutron::RouterGateway",
            "properties": {"router_id": router, "network": "public"},
        },
        route={
            "type": "OS::Neutron::ExtraRoute",
            "properties": {"router_id": router, **ROUTE},
            "depends_on": "interface",
        },
        routes={
            "type": "OS::Neutron::ExtraRouteSet",
            "properties": {"router": router, "routes": [SECOND]},
            "depends_on": "interface",
        },
        port=port(),
        address={
            "type": "OS::Neutron::FloatingIP",
            "properties": {"floating_network": "public"},
            "depends_on": ["interface", "gateway"],
        },
        joined={
            "type": "OS::Neutron::FloatingIPAssociation",
            "properties": {
                "floatingip_id": {"get_resource": "address"},
                "port_id": {"get_resource": "port"},
            },
        },
    )


CHANGES: dict[str, tuple[str, str, Callable[[Json], Any]]] = {
    "gateway": ("router", "neutron.router", lambda body: body.update(external_gateway_info=None)),
    "route": ("router", "neutron.router", lambda body: body.update(routes=[SECOND])),
    "routes": ("router", "neutron.router", lambda body: body.update(routes=[ROUTE])),
    "joined": ("address", "neutron.floatingip", lambda body: body.update(port_id=None)),
}


def test_unchanged_associations_are_in_sync(service, emulated_cloud):
    path = create_stack(service, associations())
    watch(service)
    found = drift(service, path)
    assert found["resources"] == []
    assert found["resource_counts"]["IN_SYNC"] == 10


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_removed_association_is_missing(service, emulated_cloud: ClockedEmulation, name):
    owner, noun, change = CHANGES[name]
    path = create_stack(service, associations())
    watch(service)
    change(ours(emulated_cloud, noun, physical_id(service, path, owner)))
    watch(service)
    assert entry(service, path) == (name, "DELETED", [])
