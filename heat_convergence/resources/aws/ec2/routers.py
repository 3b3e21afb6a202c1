"""The routers of virtual networks, their gateways and their interfaces.

Decides which router belongs to a network: the one of its name, as ``AWS::EC2::VPC`` creates it.
The routers of route tables are found by their tags. Called by the types of this package.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.common.errors import PhysicalResourceNameAmbiguity
from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.neutron.router_associations import INTERFACE_OWNERS
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
GATEWAY = "external_gateway_info"


class VpcRouters:
    """The routers that a resource of a virtual network may use."""

    def __init__(self, network_type: DeclarativeType, context: ResourceContext) -> None:
        """Bind to the cloud of a resource; any type of the network service will do."""
        self._type = network_type
        self._context = context
        self._routers = network_type.client_for(context, "neutron.router")

    def of_network(self, network_id: str) -> Mapping[str, Json] | None:
        """Return the router with the name of a network; None without one.

        Raises:
            PhysicalResourceNameAmbiguity: There are several.
        """
        try:
            network = self._type.client_for(self._context, "neutron.network").get(network_id)
        except ResourceGone:
            return None
        found = self.named(str(network["name"]))
        if len(found) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"Multiple routers have the name of the network {network_id}."
            )
        return found[0] if found else None

    def of_subnet(self, subnet_id: str) -> Mapping[str, Json] | None:
        """Return the router of a subnet's network; None without one."""
        try:
            subnet = self._type.client_for(self._context, "neutron.subnet").get(subnet_id)
        except ResourceGone:
            return None
        return self.of_network(str(subnet["network_id"]))

    def named(self, name: str) -> Sequence[Mapping[str, Json]]:
        """Return the routers of a name; none for an empty one."""
        return self._routers.find_by_name(name) if name else []

    def of_route_tables(self, vpc_id: str) -> Sequence[Mapping[str, Json]]:
        """Return the routers of the stack's route tables of a network."""
        tags = route_table_tags(self._context, vpc_id)
        return list(self._routers.list(tags=",".join(tags)))

    def set_gateway(self, router: Mapping[str, Json], network_id: str | None) -> None:
        """Set the external network of a router, or clear it; do nothing if it is as wanted."""
        if gateway_of(router) != network_id:
            gateway = {} if network_id is None else {"network_id": network_id}
            self._routers.update(str(router["id"]), {GATEWAY: gateway})

    def is_connected(self, subnet_id: str, router_id: str | None = None) -> bool:
        """Return whether a router, or any router, has an interface on the subnet."""
        ports = self._type.client_for(self._context, "neutron.port").list(
            device_id=router_id, fixed_ips=f"subnet_id={subnet_id}"
        )
        return any(str(port.get("device_owner")).startswith(INTERFACE_OWNERS) for port in ports)

    def connect(self, router_id: str, subnet_id: str) -> None:
        """Add an interface on the subnet, unless the router has one."""
        if not self.is_connected(subnet_id, router_id):
            self._send(router_id, "add_router_interface", subnet_id)

    def disconnect(self, router_id: str, subnet_id: str) -> None:
        """Remove the router's interface on the subnet, if it has one."""
        if self.is_connected(subnet_id, router_id):
            self._send(router_id, "remove_router_interface", subnet_id)

    def _send(self, router_id: str, action: str, subnet_id: str) -> None:
        path = self._routers.path(router_id, action)
        self._routers.send("PUT", path, {"subnet_id": subnet_id})


def gateway_of(router: Mapping[str, Json]) -> str | None:
    """Return the id of a router's external network, or None."""
    found: str | None = (router.get(GATEWAY) or {}).get("network_id")
    return found


def route_table_tags(context: ResourceContext, vpc_id: str) -> list[str]:
    """Return the tags of the routers of a stack's route tables of a network."""
    return [f"aws:stack={context.stack_id}", f"aws:vpc={vpc_id}"]
