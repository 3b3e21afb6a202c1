"""``OS::Blazar::Host`` and ``OS::Blazar::Lease``, which are known by the names in the template.

Source: docs.openstack.org/api-ref/reservation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import PhysicalResourceNameAmbiguity
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
CAPABILITIES = "extra_capability"
_HOST_ONLY = frozenset({"hypervisor_properties", "min", "max", "before_end"})
_INSTANCE_ONLY = frozenset({"vcpus", "memory_mb", "disk_gb", "affinity", "amount"})
# Type of a reservation → the properties that it does not have.
EXCLUDED_PROPERTIES = {"physical:host": _INSTANCE_ONLY, "virtual:instance": _HOST_ONLY}


class BlazarType(DeclarativeType):
    """A type whose objects have no mark but the name in the template."""

    name_field = "name"

    def find(self, context: ResourceContext) -> str | None:
        """Return the id of the only object that has the name in the template.

        Raises:
            PhysicalResourceNameAmbiguity: There are several, any of which may be the one.
        """
        name = context.properties.get("name")
        bodies = self.client(context).list()
        found = [self.extract_id(body) for body in bodies if body.get(self.name_field) == name]
        if len(found) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"{len(found)} objects of {self.name} have the name {name}: none is adopted."
            )
        return found[0] if found else None


class ReservableHost(BlazarType):
    """A compute host that can be reserved, with capabilities of the operator's choice."""

    name_field = "hypervisor_hostname"

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the name and the capabilities beside it."""
        capabilities = context.properties.get(CAPABILITIES) or {}
        return {**capabilities, "name": context.properties["name"]}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; the service shows the capabilities beside all others."""
        if name != CAPABILITIES:
            return super().attribute(context, name)
        shown = context.attributes.get("show") or {}
        names = (context.properties.get(CAPABILITIES) or {}).keys() - {"name"}
        return {key: shown.get(key) for key in sorted(names)}


class Lease(BlazarType):
    """A lease of hosts or instances."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with what belongs to the type of each reservation."""
        arguments = super().create_arguments(context)
        reservations = [_reservation(each) for each in context.properties["reservations"]]
        return {"events": [], **arguments, "reservations": reservations}


def _reservation(declared: Mapping[str, Json]) -> dict[str, Json]:
    excluded = EXCLUDED_PROPERTIES[str(declared["resource_type"])]
    return {
        name: value
        for name, value in declared.items()
        if name not in excluded and value is not None
    }
