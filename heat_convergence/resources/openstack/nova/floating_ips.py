"""Nova's own floating IPs, which are the network service's nowadays.

Decides which outside network an address without a pool is of, and which of a server's
ports one is joined to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
FLOATING_NETWORK_ID = "floating_network_id"


class ComputeFloatingIP(DeclarativeType):
    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        return (
            arguments
            if arguments.get(FLOATING_NETWORK_ID)
            else {**arguments, FLOATING_NETWORK_ID: self._outside(view)}
        )

    def _outside(self, view: ResourceContext) -> str:
        """The only one, or it is to be said which."""
        networks = self.client_for(view, "neutron.network").list(**{"router:external": True})
        ids = [str(network["id"]) for network in networks]
        if not ids:
            raise EntityNotFound("network", "router:external")
        if len(ids) > 1:
            raise PhysicalResourceNameAmbiguity(
                "Multiple networks lead outside: the property pool says which."
            )
        return ids[0]

    def attribute(self, view: ResourceContext, name: str) -> Json:
        return view.properties.get("pool") if name == "pool" else super().attribute(view, name)


class ComputeFloatingIPAssociation(Association):
    """Joins an address to the first port of a server that has one of its family."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        arguments = self.argument_builder(view)
        return {
            name: arguments.resolve_id(noun, properties[name], name)
            for name, noun in (("server_id", "nova.server"), ("floating_ip", "neutron.floatingip"))
        }

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return f"{parts['server_id']}:{parts['floating_ip']}"

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        ports = self._ports(view, parts)
        if not ports:
            raise EntityNotFound("port", parts["server_id"])
        self.client(view).update(parts["floating_ip"], {"port_id": ports[0]})

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        if self.read_association(view, parts) is not None:
            self.client(view).update(parts["floating_ip"], {"port_id": None})

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        body = self.client(view).get(parts["floating_ip"])
        joined = body.get("port_id")
        return body if joined and joined in self._ports(view, parts) else None

    def reference_id(self, view: ResourceContext) -> Json:
        return view.physical_name or view.name

    def _ports(self, view: ResourceContext, parts: Mapping[str, Json]) -> list[str]:
        """Those with an address of version 4, which floating ones are of."""
        found = self.client_for(view, "neutron.port").list(device_id=parts["server_id"])
        return [
            str(port["id"])
            for port in found
            if any(":" not in ip["ip_address"] for ip in port.get("fixed_ips") or ())
        ]
