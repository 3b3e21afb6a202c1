"""``OS::Neutron::Port``: what the service does by itself when it is not told.

Decides when fixed addresses and security groups are named in a call at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, ResourceGone, ResourcePropertyConflict
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
FIXED_IPS = "fixed_ips"
NO_FIXED_IPS = "no_fixed_ips"
SECURITY_GROUPS = "security_groups"
PORT_SECURITY_ENABLED = "port_security_enabled"
DEFAULT_SECURITY_GROUP = "default"


class Port(DeclarativeType):
    releases_identity: ClassVar[bool] = True

    def create(self, view: ResourceContext) -> VerbResult:
        self._free_addresses(view, view.properties)
        return super().create(view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        if FIXED_IPS in changed:
            self._free_addresses(view, after)
        return super().update(view, after, changed)

    def _free_addresses(self, view: ResourceContext, wanted: Mapping[str, Json]) -> None:
        """An address is given twice on no network: the port on its way out lets go."""
        named = _addresses(wanted.get(FIXED_IPS))
        for rival in view.predecessors if named else ():
            with suppress(ResourceGone):
                if named & _addresses(self.client(view).get(rival).get(FIXED_IPS)):
                    self.client(view).update(rival, {FIXED_IPS: []})

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if view.properties.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif not arguments.get(FIXED_IPS):
            arguments.pop(FIXED_IPS, None)
        return arguments

    def update_arguments(
        self, view: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        arguments = super().update_arguments(view, after, names)
        if NO_FIXED_IPS in names and after.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif FIXED_IPS in arguments and not arguments[FIXED_IPS]:
            del arguments[FIXED_IPS]
        if after.get(PORT_SECURITY_ENABLED) is False and not after.get(SECURITY_GROUPS):
            arguments[SECURITY_GROUPS] = []  # which the service demands
        elif SECURITY_GROUPS in names and after.get(SECURITY_GROUPS) is None:
            # Without any the service leaves the old ones: the project's own instead.
            group = self.id_lookup(view).resolve_id(
                "neutron.security_group", DEFAULT_SECURITY_GROUP, project_id=view.project_id
            )
            arguments[SECURITY_GROUPS] = [group]
        return arguments

    def recorded_attributes(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """With its network and subnets, which most ports have in common: one call each
        and interval, whatever their number."""
        told = dict(super().recorded_attributes(view, body))
        networks = self.client_for(view, "neutron.network")
        subnets = self.client_for(view, "neutron.subnet")
        ids = [str(ip["subnet_id"]) for ip in body.get(FIXED_IPS) or () if ip.get("subnet_id")]
        with suppress(Error):  # they are told when they can be
            told["subnets"] = [self.context.body_cache.get(subnets, one, view.now) for one in ids]
            network_id = str(body["network_id"])
            told["network"] = self.context.body_cache.get(networks, network_id, view.now)
        return told

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if properties.get(NO_FIXED_IPS) and properties.get(FIXED_IPS):
            raise ResourcePropertyConflict(
                f"Cannot define the following properties at the same time:"
                f" {FIXED_IPS}, {NO_FIXED_IPS}."
            )


def _addresses(fixed_ips: Json) -> set[str]:
    return {str(ip["ip_address"]) for ip in fixed_ips or () if ip.get("ip_address")}
