"""``OS::Designate::Zone`` and ``OS::Designate::RecordSet``: values without content are not sent.

Source: docs.openstack.org/api-ref/dns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
# Type of a zone → the argument that it requires, and those that are of the other type alone.
_REQUIRED_ARGUMENTS = {"PRIMARY": "email", "SECONDARY": "masters"}
_ARGUMENTS_OF_OTHERS = {"PRIMARY": {"masters"}, "SECONDARY": {"email", "ttl"}}


class DnsType(DeclarativeType):
    """A type of Designate, which refuses empty texts and lists."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments that have content."""
        return _with_content(super().create_arguments(context))

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the arguments that have content: an update cannot clear a value."""
        return _with_content(super().update_arguments(context, after, names))


class Zone(DnsType):
    """A zone, whose type decides which properties it needs."""

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Refuse a zone that can be of neither type, and the old and new name of one property."""
        if {"masters", "primaries"} <= names:
            raise StackValidationFailed("Cannot use masters and primaries at the same time.")
        if not names & {"email", "masters", "primaries"}:
            raise StackValidationFailed(
                "A zone of type PRIMARY requires email, one of type SECONDARY requires primaries."
            )

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments of the zone's type.

        Raises:
            StackValidationFailed: The one that it requires is missing.
        """
        arguments = super().create_arguments(context)
        zone_type = str(arguments["type"])
        required = _REQUIRED_ARGUMENTS[zone_type]
        if required not in arguments:
            raise StackValidationFailed(
                f"Property {required} is required for a zone of type {zone_type}."
            )
        excluded = _ARGUMENTS_OF_OTHERS[zone_type]
        return {name: value for name, value in arguments.items() if name not in excluded}

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the observed values of the properties that a zone of this type is sent."""
        excluded = _ARGUMENTS_OF_OTHERS[str(context.properties["type"])]
        found = super().comparable_values(context, result)
        return {
            name: value for name, value in found.items() if self._argument(name) not in excluded
        }


class RecordSet(DnsType):
    """A record set, whose name ends with that of its zone."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with a complete name: the physical name unless there is one."""
        arguments = super().create_arguments(context)
        name = str(arguments.get("name") or context.physical_name)
        if not name.endswith("."):
            zone_id = self._path_values(context)["zone_id"]
            name = f"{name}.{self.client_for(context, 'designate.zone').get(zone_id)['name']}"
        return {**arguments, "name": name}


def _with_content(arguments: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in arguments.items() if value not in ("", [], {}, 0, None)}
