"""``AWS::EC2::EIPAssociation``: a floating IP at a server or port.

Decides which floating IP and port the properties mean. They are recorded, so that what is observed
and cleared later is what was associated.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import (
    EntityNotFound,
    NotFound,
    PropertyUnspecifiedError,
    ResourcePropertyConflict,
)
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.ec2.addresses import first_ipv4_port
from heat_convergence.resources.aws.ec2.routers import VpcRouters
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
_ADDRESS, _ALLOCATION, _SERVER, _PORT = "EIP", "AllocationId", "InstanceId", "NetworkInterfaceId"
_ADDRESS_SIDE, _PORT_SIDE = frozenset({_ADDRESS, _ALLOCATION}), frozenset({_SERVER, _PORT})
_ARGUMENTS = ("floatingip_id", "port_id", "fixed_ip_address")


class EIPAssociation(TranslatedType):
    """The association of a floating IP with a port."""

    name = "AWS::EC2::EIPAssociation"
    target = "OS::Neutron::FloatingIPAssociation"
    schema_group = "vpc"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return no property: all of them are looked up."""
        return {}

    def translated(self, context: ResourceContext) -> ResourceContext:
        """Return the context with what was associated, which is looked up unless recorded."""
        recorded = {name: context.data[name] for name in _ARGUMENTS if name in context.data}
        found = recorded if len(recorded) == len(_ARGUMENTS) else None
        properties = found or self.look_up(context, context.properties)
        return replace(context, properties=properties)

    def look_up(self, context: ResourceContext, properties: Mapping[str, Json]) -> dict[str, Json]:
        """Return the floating IP, the port and its address."""
        floating_ip = self._floating_ip(context, properties)
        port_id, fixed_address = properties.get(_PORT), None
        if not port_id or not properties.get(_ALLOCATION):
            port_id, fixed_address = first_ipv4_port(self.delegate, context, properties[_SERVER])
        return dict(zip(_ARGUMENTS, (floating_ip, str(port_id), fixed_address), strict=True))

    def _floating_ip(self, context: ResourceContext, properties: Mapping[str, Json]) -> str:
        if properties.get(_ALLOCATION):
            return str(properties[_ALLOCATION])
        address = str(properties.get(_ADDRESS))
        client = self.delegate.client_for(context, "neutron.floatingip")
        for body in client.list(floating_ip_address=address):
            return str(body["id"])
        raise EntityNotFound("floating IP", address)

    # -- verbs

    def create(self, context: ResourceContext) -> VerbResult:
        """Associate them."""
        found = self.look_up(context, context.properties)
        self._set_gateway(context, context.properties, found)
        self.delegate.create(replace(context, properties=found))
        return _associated(context.properties, found)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Associate them unless they are."""
        return self.create(context)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Clear the former association, if it exists, and associate anew."""
        found = self.look_up(context, after)
        self._set_gateway(context, after, found)
        try:
            before = self.translated(context).properties
        except (NotFound, ResourceGone):
            before = {}
        if before and before["floatingip_id"] != found["floatingip_id"]:
            self.delegate.delete(replace(context, properties=before))
        self.delegate.create(replace(context, properties=found))
        return _associated(after, found)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether both sides change."""
        return bool(changed & _ADDRESS_SIDE) and bool(changed & _PORT_SIDE)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Clear the association."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            return super().delete(context)
        except (NotFound, ResourceGone):
            return VerbResult(ObservedState.ABSENT)  # what was associated is gone

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the association."""
        try:
            return super().observe(context)
        except (NotFound, ResourceGone):
            return VerbResult(ObservedState.ABSENT, reason="the resources are not associated")

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe each: what is associated may have to be looked up."""
        return {context.resource_id: self.observe(context) for context in contexts}

    def find(self, context: ResourceContext) -> str | None:
        """Return the address's id or text if it is associated."""
        if not context.properties:
            return None
        try:
            found = super().find(context)
        except (NotFound, ResourceGone):
            return None
        return None if found is None else _physical_id(context.properties)

    def _set_gateway(
        self, context: ResourceContext, properties: Mapping[str, Json], found: Mapping[str, Json]
    ) -> None:
        """Let the router of the port's network reach the network of an allocated floating IP."""
        if not properties.get(_ALLOCATION):
            return
        routers = VpcRouters(self.delegate, context)
        port = self.delegate.client_for(context, "neutron.port").get(found["port_id"])
        router = routers.of_network(str(port["network_id"]))
        if router is not None:
            client = self.delegate.client_for(context, "neutron.floatingip")
            floating_ip = client.get(found["floatingip_id"])
            routers.set_gateway(router, str(floating_ip["floating_network_id"]))

    # -- attributes and checks

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the physical name."""
        return context.physical_name or context.name

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require one address and what it is associated with.

        Raises:
            ResourcePropertyConflict: There are two addresses.
            PropertyUnspecifiedError: A side is missing.
        """
        if names >= _ADDRESS_SIDE:
            raise ResourcePropertyConflict(
                f"Cannot define the following properties at the same time: {_ADDRESS},"
                f" {_ALLOCATION}."
            )
        if not names & _ADDRESS_SIDE:
            _require(_ADDRESS, _ALLOCATION)
        if _ADDRESS in names and _SERVER not in names:
            _require(_SERVER)
        if not names & _PORT_SIDE:
            _require(_SERVER, _PORT)


def _require(*names: str) -> None:
    raise PropertyUnspecifiedError(
        f"At least one of the following properties must be specified: {', '.join(names)}."
    )


def _associated(properties: Mapping[str, Json], found: Mapping[str, Json]) -> VerbResult:
    physical_id = _physical_id(properties)
    return VerbResult(ObservedState.READY, physical_id, {"show": dict(found)}, dict(found))


def _physical_id(properties: Mapping[str, Json]) -> str:
    return str(properties.get(_ADDRESS) or properties.get(_ALLOCATION))
