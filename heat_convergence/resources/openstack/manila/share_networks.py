"""Types of Manila that prepare shares: share networks, share types and security services.

Source: docs.openstack.org/api-ref/shared-file-system.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
_NETWORK, _SUBNET = "neutron_net_id", "neutron_subnet_id"
_FIXED_EXTRA_SPECS = ("driver_handles_share_servers", "snapshot_support")


class ShareNetwork(DeclarativeType):
    """A share network, whose network may be found by its subnet."""

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Refuse networks of Nova, and a network without a subnet."""
        if "nova_network" in names:
            raise StackValidationFailed(
                "nova_network is not supported: use neutron_network and neutron_subnet."
            )
        if "neutron_network" in names and "neutron_subnet" not in names:
            raise StackValidationFailed("neutron_network requires neutron_subnet.")

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the network of the subnet."""
        return self._with_network(context, super().create_arguments(context))

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the changed arguments; another subnet brings its network along."""
        return self._with_network(context, super().update_arguments(context, after, names))

    def _with_network(
        self, context: ResourceContext, arguments: dict[str, Json]
    ) -> dict[str, Json]:
        if not arguments.get(_SUBNET) or arguments.get(_NETWORK):
            return arguments
        subnet = self.client_for(context, "neutron.subnet").get(arguments[_SUBNET])
        return {**arguments, _NETWORK: subnet["network_id"]}


class ShareType(DeclarativeType):
    """A share type, whose required extra specs are properties of their own."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the extra specs that Manila requires."""
        required = {name: context.properties[name] for name in _FIXED_EXTRA_SPECS}
        return {**super().create_arguments(context), "extra_specs": required}


class SecurityService(DeclarativeType):
    """A security service, whose password Manila shows."""

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes without the password."""
        return {"show": {name: value for name, value in body.items() if name != "password"}}


class SecurityServices(SubResource):
    """The security services of a share network."""

    property_names = frozenset({"security_services"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove the services that are not desired any more, and add those that are missing."""
        client, network_id = physical.client, physical.path_id
        query = {"share_network_id": network_id}
        body = client.send("GET", "/security-services/detail", query=query).body
        current = {str(each["id"]) for each in body["security_services"]}
        desired = set(properties.get("security_services") or ())
        removed = current & set((before or {}).get("security_services") or ()) - desired
        for verb, ids in (("remove", removed), ("add", desired - current)):
            for service_id in sorted(ids):
                client.action(
                    network_id, f"{verb}_security_service", {"security_service_id": service_id}
                )
