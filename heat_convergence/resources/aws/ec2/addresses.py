"""``AWS::EC2::EIP`` and ``AWS::EC2::NetworkInterface``: addresses and ports.

Decides the properties of the network service's types whose verbs they have, and which network they
belong to.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
_INSTANCE, _ADDRESS = "InstanceId", "floating_ip_address"


class ElasticIP(TranslatedType):
    """A floating IP of the only external network, perhaps of a server."""

    name = "AWS::EC2::EIP"
    target = "OS::Neutron::FloatingIP"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return no property: all of them are looked up."""
        return {}

    def look_up(self, context: ResourceContext, properties: Mapping[str, Json]) -> dict[str, Json]:
        """Return the external network, and the port of the server."""
        found = {"floating_network": only_external_network(self.delegate, context, self.name)}
        server = properties.get(_INSTANCE)
        if not server:
            return found
        return {**found, "port_id": first_ipv4_port(self.delegate, context, server)[0]}

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the address."""
        return self.delegate.attribute(context, _ADDRESS) or super().reference_id(context)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the id as ``AllocationId``."""
        return context.physical_id if name == "AllocationId" else super().attribute(context, name)


def first_ipv4_port(
    network_type: DeclarativeType, context: ResourceContext, server: str
) -> tuple[str, str]:
    """Return the id of a server's first port with an address of IPv4, and the address.

    Raises:
        EntityNotFound: The server has none.
    """
    server_id = network_type.id_lookup(context).resolve_id("nova.server", server)
    for port in network_type.client_for(context, "neutron.port").list(device_id=server_id):
        for each in port.get("fixed_ips") or ():
            if ipaddress.ip_address(each["ip_address"]).version == 4:
                return str(port["id"]), str(each["ip_address"])
    raise EntityNotFound("IPv4 port of the server", server)


def only_external_network(
    network_type: DeclarativeType, context: ResourceContext, type_name: str
) -> str:
    """Return the id of the only external network.

    Raises:
        EntityNotFound: There is none.
        PhysicalResourceNameAmbiguity: There are several.
    """
    client = network_type.client_for(context, "neutron.network")
    networks = list(client.list(**{"router:external": True}))
    if not networks:
        raise EntityNotFound("network", "router:external")
    if len(networks) > 1:
        raise PhysicalResourceNameAmbiguity(
            f"There are multiple external networks, of which {type_name} cannot choose one."
        )
    return str(networks[0]["id"])


class NetworkInterface(TranslatedType):
    """A port of a subnet."""

    name = "AWS::EC2::NetworkInterface"
    target = "OS::Neutron::Port"
    same_values: ClassVar[Mapping[str, str]] = {"security_groups": "GroupSet"}

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the port."""
        address = {
            "subnet": properties["SubnetId"],
            "ip_address": properties.get("PrivateIpAddress"),
        }
        return {
            "fixed_ips": [{key: value for key, value in address.items() if value}],
            "security_groups": properties.get("GroupSet"),
        }

    def look_up(self, context: ResourceContext, properties: Mapping[str, Json]) -> dict[str, Json]:
        """Return the network of the subnet."""
        subnet = self.delegate.id_lookup(context).resolve_id(
            "neutron.subnet", properties["SubnetId"]
        )
        body = self.delegate.client_for(context, "neutron.subnet").get(subnet)
        return {"network": body["network_id"]}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the first address as ``PrivateIpAddress``."""
        if name != "PrivateIpAddress":
            return super().attribute(context, name)
        addresses = (context.attributes.get("show") or {}).get("fixed_ips") or ()
        return next((each["ip_address"] for each in addresses), None)
