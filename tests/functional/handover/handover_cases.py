"""Objects made by hand, and templates that describe them."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, create_stack

Json = Any
EMPTY: Json = {"heat_template_version": "2016-10-14", "resources": {}}


def make_by_hand(emulated_cloud: ClockedEmulation) -> dict[str, str]:
    """Make a network, subnet, port, security group, volume and server; return their ids."""
    emulated_cloud.cloud_for("")
    cloud = connect(emulated_cloud.emulation)
    net = cloud.network.create_network(name="shop")
    subnet = cloud.network.create_subnet(
        network_id=net.id, name="shop", cidr="10.90.0.0/24", ip_version=4
    )
    group = cloud.network.create_security_group(name="web", description="by hand")
    port = cloud.network.create_port(network_id=net.id, name="front", security_groups=[group.id])
    disk = cloud.block_storage.create_volume(name="disk", size=1)
    image, flavor = emulated_cloud.bodies("glance.image"), emulated_cloud.bodies("nova.flavor")
    server = cloud.compute.create_server(
        name="web",
        image_id=next(each["id"] for each in image if each["name"] == "cirros"),
        flavor_id=next(each["id"] for each in flavor if each["name"] == "m1.nano"),
        networks=[{"port": port.id}],
    )
    assert emulated_cloud.service is not None
    emulated_cloud.service.clock.advance(120)
    emulated_cloud.cloud_for("")  # it follows the clock
    found = {
        "net": net.id,
        "subnet": subnet.id,
        "group": group.id,
        "port": port.id,
        "disk": disk.id,
        "server": server.id,
    }
    return {name: str(each) for name, each in found.items()}


def hand_made_template() -> Json:
    """Return the template of what ``make_by_hand`` makes."""
    network = {"get_resource": "net"}
    return {
        "heat_template_version": "2016-10-14",
        "resources": {
            "net": {"type": "OS::Neutron::Net", "properties": {"name": "shop"}},
            "subnet": {
                "type": "OS::Neutron::Subnet",
                "properties": {"network": network, "name": "shop", "cidr": "10.90.0.0/24"},
            },
            "group": {
                "type": "OS::Neutron::SecurityGroup",
                "properties": {"name": "web", "description": "by hand"},
            },
            "port": {
                "type": "OS::Neutron::Port",
                "properties": {
                    "name": "front",
                    "network": network,
                    "security_groups": [{"get_resource": "group"}],
                },
            },
            "disk": {"type": "OS::Cinder::Volume", "properties": {"name": "disk", "size": 1}},
            "server": {
                "type": "OS::Nova::Server",
                "properties": {
                    "name": "web",
                    "image": "cirros",
                    "flavor": "m1.nano",
                    "networks": [{"port": {"get_resource": "port"}}],
                },
            },
        },
    }


def empty_stack(service: LocalService, name: str = "s") -> str:
    """Create a stack without resources and return its path."""
    return create_stack(service, EMPTY, stack_name=name)


def physical_ids(service: LocalService, path: str) -> dict[str, str]:
    """Return the physical ids of a stack's resources by name."""
    found = service.send("GET", f"{path}/resources").json["resources"]
    return {each["resource_name"]: each["physical_resource_id"] for each in found}


def changing_requests(emulated_cloud: ClockedEmulation) -> list[str]:
    """Return the requests since the counts were cleared that were not mere reads."""
    counts = emulated_cloud.emulation.request_counts
    return sorted(key for key in counts if not key.startswith("GET "))


def own_network(emulated_cloud: ClockedEmulation, **body: Json) -> str:
    made = emulated_cloud.emulation.add(
        "neutron.network", **{"name": "n", "status": "ACTIVE", "project_id": PROJECT_ID, **body}
    )
    return str(made["id"])


def net_template(**resources: Json) -> Json:
    """Return a template of networks, by resource name the properties."""
    return {
        "heat_template_version": "2016-10-14",
        "resources": {
            name: {"type": "OS::Neutron::Net", "properties": properties}
            for name, properties in resources.items()
        },
    }
