"""The declaration of a resource type as a catalog row.

Decides nothing: data, read by ``declarative``. A path such as ``fixed_ips.subnet`` names a
property inside a map or inside the maps of a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.convergence.drift.comparison import PropertyComparison
from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.protocol.resource_type import ImplicitDependency
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.template.environment.readiness import ReadinessLevel

Json = Any


@dataclass(frozen=True, slots=True)
class ArgumentMapping:
    """The argument that a property becomes.

    ``argument`` is its name, or its path in a map such as ``rule.metric``; None to send nothing.
    ``entity`` is the entity whose id the value is resolved to, None to send the value itself.
    """

    argument: str | None
    entity: str | None = None


def rename_arguments(**names: str) -> dict[str, ArgumentMapping]:
    """Map properties to arguments of other names."""
    return {name: ArgumentMapping(argument) for name, argument in names.items()}


def omit_arguments(*names: str) -> dict[str, ArgumentMapping]:
    """Map properties that the create and update calls do not send."""
    return {name: ArgumentMapping(None) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMapping:
    """The field with an object's status, and the meaning of its values in lower case.

    ``ready`` None means that every status is ready that is neither busy nor failed.
    """

    body_key: str | None = "status"
    busy: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset({"error"})
    ready: frozenset[str] | None = None
    absent: frozenset[str] = frozenset({"deleted"})
    reason_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMapping:
    """The field that tells the health of an object that is ready, its values in lower case.

    An object without the field is healthy, as is one of any value that is not ``unhealthy``
    where ``healthy`` is None.
    """

    body_key: str | None
    healthy: frozenset[str] | None = None
    unhealthy: frozenset[str] = frozenset()

    def is_healthy(self, word: str) -> bool:
        """Return whether an object is healthy whose field has the value; empty for none."""
        if not word or self.healthy is None:
            return word not in self.unhealthy
        return word in self.healthy


NO_STATUS = StatusMapping(body_key=None)
ALWAYS_HEALTHY = HealthMapping(body_key=None)
ALWAYS_LIVE = frozenset({"show", "status", "tags"})  # of every type that has them


@dataclass(frozen=True, slots=True)
class PhysicalResource:
    """An existing object whose subresources are being applied."""

    client: RestResourceClient
    path_id: str
    body: Mapping[str, Json]
    id_lookup: IdLookup
    context: ResourceContext


class SubResource(ABC):
    """A part of a resource that takes calls of its own, after a create and on update.

    ``apply`` may be repeated after a crash: it must then change nothing twice.
    """

    property_names: frozenset[str]

    @abstractmethod
    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Bring the part to the properties; ``before`` is None for a new resource."""

    def remove(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> None:
        """Remove what would prevent the resource's own deletion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec:
    """The declaration of one resource type.

    Attributes:
        schema_file: The name of the schemas' file.
        service: The service's name in messages to users (neutron, nova).
        path_properties: Name in the path → property that has its value.
        path_entities: Name in the path → entity whose id the property is resolved to.
        fixed_arguments: Arguments that every create sends.
        unset_when_blank: Properties that an empty text leaves not assigned, beside those
            whose value is resolved to an id.
        null_when_blank: Properties whose empty text is sent as null.
        null_when_unset: Properties that are sent as null when an update removes them; others are
        sent as the empty value of their type.
        kept_when_unset: Properties of which nothing is sent when an update removes them.
        findable_by_content: No two objects of a project are alike.
        immutable: The service does not change its objects.
        updated_together: Properties of which an update sends all when it sends one.
        update_argument_names: Argument of a create → the argument's name in an update.
        attribute_paths: Attribute → key in the body where they differ; dots separate nested keys.
        live_attributes: Attributes that requests of others change, beside ``ALWAYS_LIVE``.
        deletes_asynchronously: The service deletes after it has responded.
        health_mapping: What the service says of the health of an object that is ready.
        dependent_levels: Type of a dependent, or a pattern → the level at which it may start.
        comparisons: Property → how the watch compares its observed value.
        is_read_alone: Whether the watch reads objects one by one that no list shows.
        unlisted_reason: Why no list of the service shows its objects with what is compared;
            empty if one does.
    """

    name: str
    schema_file: str
    service: str
    rest_resource: RestResource
    arguments: Mapping[str, ArgumentMapping] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    path_properties: Mapping[str, str] = field(default_factory=dict)
    path_entities: Mapping[str, str] = field(default_factory=dict)
    fixed_arguments: Mapping[str, Json] = field(default_factory=dict)
    unset_when_blank: frozenset[str] = frozenset()
    null_when_blank: frozenset[str] = frozenset()
    null_when_unset: frozenset[str] = frozenset()
    kept_when_unset: frozenset[str] = frozenset()
    findable_by_content: bool = False
    immutable: bool = False
    updated_together: frozenset[str] = frozenset()
    update_argument_names: Mapping[str, str] = field(default_factory=dict)
    status_mapping: StatusMapping = NO_STATUS
    health_mapping: HealthMapping = ALWAYS_HEALTHY
    dependent_levels: Mapping[str, ReadinessLevel] = field(default_factory=dict)
    attribute_paths: Mapping[str, str] = field(default_factory=dict)
    live_attributes: frozenset[str] = frozenset()
    subresources: tuple[SubResource, ...] = ()
    deletes_asynchronously: bool = False
    has_name: bool = True
    comparisons: Mapping[str, PropertyComparison] = field(default_factory=dict)
    unlisted_reason: str = ""
    is_read_alone: bool = False
    implicit_dependencies: tuple[ImplicitDependency, ...] = ()
    test_environment: str = "emulation"

    @property
    def is_listed(self) -> bool:
        """True if the service lists the type's objects with all that is compared."""
        return not self.unlisted_reason

    def is_restorable(self, name: str) -> bool:
        """Return whether an update can restore the property after others have changed it."""
        rule = self.comparisons.get(name)
        return rule is None or rule.is_restorable
