"""``OS::Neutron::Port``: decides when a call names fixed IPs and security groups at all.

Neutron chooses both by itself if a call does not name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, ResourcePropertyConflict
from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
FIXED_IPS = "fixed_ips"
NO_FIXED_IPS = "no_fixed_ips"
SECURITY_GROUPS = "security_groups"
PORT_SECURITY_ENABLED = "port_security_enabled"
DEFAULT_SECURITY_GROUP = "default"


class Port(DeclarativeType):
    """A port of the network service."""

    releases_identity: ClassVar[bool] = True

    def create(self, context: ResourceContext) -> VerbResult:
        """Release the addresses from predecessors, then create the port."""
        self._release_addresses(context, context.properties)
        return super().create(context)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Release the addresses from predecessors, then update the port."""
        if FIXED_IPS in changed:
            self._release_addresses(context, after)
        return super().update(context, after, changed)

    def _release_addresses(self, context: ResourceContext, properties: Mapping[str, Json]) -> None:
        """Take the addresses from the ports to be deleted.

        Neutron allocates no address twice on a network.
        """
        addresses = _addresses(properties.get(FIXED_IPS))
        for predecessor in context.predecessors if addresses else ():
            with suppress(ResourceGone):
                if addresses & _addresses(self.client(context).get(predecessor).get(FIXED_IPS)):
                    self.client(context).update(predecessor, {FIXED_IPS: []})

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments, without fixed IPs if Neutron is to choose them."""
        arguments = super().create_arguments(context)
        if context.properties.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif not arguments.get(FIXED_IPS):
            arguments.pop(FIXED_IPS, None)
        return arguments

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the arguments that reach the new fixed IPs and security groups."""
        arguments = super().update_arguments(context, after, names)
        if NO_FIXED_IPS in names and after.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif FIXED_IPS in arguments and not arguments[FIXED_IPS]:
            del arguments[FIXED_IPS]
        if after.get(PORT_SECURITY_ENABLED) is False and not after.get(SECURITY_GROUPS):
            arguments[SECURITY_GROUPS] = []  # which Neutron demands
        elif SECURITY_GROUPS in names and after.get(SECURITY_GROUPS) is None:
            # Without any, Neutron keeps the old ones: set the project's default group.
            group = self.id_lookup(context).resolve_id(
                "neutron.security_group", DEFAULT_SECURITY_GROUP, project_id=context.project_id
            )
            arguments[SECURITY_GROUPS] = [group]
        return arguments

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes with the port's network and subnets.

        Most ports share them, so they cost one call each in a while, whatever the number of ports.
        """
        attributes = dict(super().recorded_attributes(context, body))
        networks = self.client_for(context, "neutron.network")
        subnets = self.client_for(context, "neutron.subnet")
        ids = [str(ip["subnet_id"]) for ip in body.get(FIXED_IPS) or () if ip.get("subnet_id")]
        with suppress(Error):  # left out while Neutron is unavailable
            attributes["subnets"] = [
                self.context.body_cache.get(subnets, subnet_id, context.now) for subnet_id in ids
            ]
            network_id = str(body["network_id"])
            attributes["network"] = self.context.body_cache.get(networks, network_id, context.now)
        return attributes

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Reject ``fixed_ips`` together with ``no_fixed_ips``."""
        if properties.get(NO_FIXED_IPS) and properties.get(FIXED_IPS):
            raise ResourcePropertyConflict(
                f"Cannot define the following properties at the same time:"
                f" {FIXED_IPS}, {NO_FIXED_IPS}."
            )


def _addresses(fixed_ips: Json) -> set[str]:
    return {str(ip["ip_address"]) for ip in fixed_ips or () if ip.get("ip_address")}
