"""The stacks whose resources others change: a server with all that it needs, and a bystander."""

from __future__ import annotations

from typing import Any

from tests.cloud.testbed import CloudTestbed

Json = Any
POLICIES: Json = {"resource_registry": {"resources": {"*": {"drift": {"policy": "repair"}}}}}
_RULES = [
    {"direction": "ingress", "protocol": "tcp", "port_range_min": port, "port_range_max": port}
    for port in (22, 443)
]


def make_template(cloud: CloudTestbed, number: int, volume_type: str) -> Json:
    """Return the template of a stack.

    Args:
        cloud: The cloud, whose image and flavor the server uses.
        number: The number of the stack, which its addresses contain.
        volume_type: The type of its volume.
    """
    net, subnet = {"get_resource": "net"}, {"get_resource": "subnet"}
    server = {
        "image": cloud.facts["ids"]["image"],
        "flavor": "m1.nano",
        "networks": [{"port": {"get_resource": "port"}}],
    }
    port = {"name": f"drift-port-{number}", "network": net, "fixed_ips": [{"subnet": subnet}]}
    types: dict[str, tuple[str, Json]] = {
        "net": ("OS::Neutron::Net", {}),
        "subnet": ("OS::Neutron::Subnet", {"network": net, "cidr": f"10.90.{number}.0/24"}),
        "router": ("OS::Neutron::Router", {}),
        "interface": (
            "OS::Neutron::RouterInterface",
            {"router": {"get_resource": "router"}, "subnet": subnet},
        ),
        "group": ("OS::Neutron::SecurityGroup", {"rules": _RULES}),
        "port": ("OS::Neutron::Port", port),
        "server": ("OS::Nova::Server", server),
        "volume": ("OS::Cinder::Volume", {"size": 1, "volume_type": volume_type}),
        "server_id": ("OS::Heat::Value", {"value": {"get_resource": "server"}}),
        "bystander": ("OS::Neutron::Port", {"network": net, "fixed_ips": [{"subnet": subnet}]}),
    }
    resources = {
        name: {"type": type_name, "properties": properties}
        for name, (type_name, properties) in types.items()
    }
    return {"heat_template_version": "2021-04-16", "resources": resources}
