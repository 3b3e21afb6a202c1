"""``OS::Neutron::FloatingIPAssociation``: a floating IP joined to a port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.openstack.listed_associations import ListedAssociation
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


class FloatingIPAssociation(ListedAssociation):
    """The association of a floating IP with a port."""

    object_key = "floatingip_id"

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``floatingip_id``, ``port_id`` and ``fixed_ip_address``."""
        builder = self.argument_builder(context)
        floating_ip = properties["floatingip_id"]
        return {
            "floatingip_id": builder.resolve_id(
                "neutron.floatingip", floating_ip, "floatingip_id"
            ),
            "port_id": builder.resolve_id("neutron.port", properties["port_id"], "port_id"),
            "fixed_ip_address": properties.get("fixed_ip_address"),
        }

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the ids of the floating IP and the port."""
        return f"{arguments['floatingip_id']}:{arguments['port_id']}"

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Set the floating IP's port and, if there is one, fixed address."""
        body = {"port_id": arguments["port_id"]}
        if arguments["fixed_ip_address"]:
            body["fixed_ip_address"] = arguments["fixed_ip_address"]
        self.client(context).update(arguments["floatingip_id"], body)

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Clear the floating IP's port, unless it has another one by now."""
        # A port that somebody else has set meanwhile stays.
        if self.read_association(context, arguments) is not None:
            self.client(context).update(arguments["floatingip_id"], {"port_id": None})

    def select_association(
        self, arguments: Mapping[str, Json], body: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the floating IP's body if it has this port."""
        return body if body.get("port_id") == arguments["port_id"] else None
