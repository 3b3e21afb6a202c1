"""Nova's floating IPs, which Neutron provides today.

Decides which external network a floating IP without a pool belongs to, and which of a server's
ports it is associated with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
FLOATING_NETWORK_ID = "floating_network_id"


class ComputeFloatingIP(DeclarativeType):
    """A floating IP of a pool, which is an external network."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the only external network, if no pool is set."""
        arguments = super().create_arguments(context)
        return (
            arguments
            if arguments.get(FLOATING_NETWORK_ID)
            else {**arguments, FLOATING_NETWORK_ID: self._only_external_network(context)}
        )

    def _only_external_network(self, context: ResourceContext) -> str:
        """Return the id of the only external network.

        Raises:
            EntityNotFound: There is none.
            PhysicalResourceNameAmbiguity: There are several.
        """
        networks = self.client_for(context, "neutron.network").list(**{"router:external": True})
        ids = [str(network["id"]) for network in networks]
        if not ids:
            raise EntityNotFound("network", "router:external")
        if len(ids) > 1:
            raise PhysicalResourceNameAmbiguity(
                "There are multiple external networks: set the property pool."
            )
        return ids[0]

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``pool`` is the property."""
        return (
            context.properties.get("pool") if name == "pool" else super().attribute(context, name)
        )


class ComputeFloatingIPAssociation(Association):
    """The association of a floating IP with a server's first IPv4 port."""

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``server_id`` and ``floating_ip`` as ids."""
        builder = self.argument_builder(context)
        return {
            name: builder.resolve_id(entity, properties[name], name)
            for name, entity in (
                ("server_id", "nova.server"),
                ("floating_ip", "neutron.floatingip"),
            )
        }

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the ids of the server and the floating IP."""
        return f"{arguments['server_id']}:{arguments['floating_ip']}"

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Set the floating IP's port.

        Raises:
            EntityNotFound: The server has no port with an IPv4 address.
        """
        port_ids = self._ipv4_port_ids(context, arguments)
        if not port_ids:
            raise EntityNotFound("port", arguments["server_id"])
        self.client(context).update(arguments["floating_ip"], {"port_id": port_ids[0]})

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Clear the floating IP's port if it is one of the server's."""
        if self.read_association(context, arguments) is not None:
            self.client(context).update(arguments["floating_ip"], {"port_id": None})

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the floating IP's body if it has a port of the server."""
        body = self.client(context).get(arguments["floating_ip"])
        port_id = body.get("port_id")
        return body if port_id and port_id in self._ipv4_port_ids(context, arguments) else None

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the physical name, as Heat does."""
        return context.physical_name or context.name

    def _ipv4_port_ids(self, context: ResourceContext, arguments: Mapping[str, Json]) -> list[str]:
        """Return the server's ports with an IPv4 address, the only version of floating IPs."""
        ports = self.client_for(context, "neutron.port").list(device_id=arguments["server_id"])
        return [
            str(port["id"])
            for port in ports
            if any(":" not in ip["ip_address"] for ip in port.get("fixed_ips") or ())
        ]
