"""What a catalogue row can say of a resource type.

Decides nothing: data, read by ``declared``.  A path such as ``fixed_ips.subnet`` names
a property, or one inside a map or inside the maps of a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.protocol.resource_type import ImplicitDependency, ResourceContext

Json = Any


@dataclass(frozen=True, slots=True)
class ArgumentMapping:
    """How a property becomes an argument: under which name (None: it is not sent),
    with its value looked up as the id of which noun."""

    argument: str | None
    entity: str | None = None


def rename_arguments(**names: str) -> dict[str, ArgumentMapping]:
    """Properties that are arguments under another name."""
    return {name: ArgumentMapping(to) for name, to in names.items()}


def omit_arguments(*names: str) -> dict[str, ArgumentMapping]:
    """Properties that something else than the create and update call sees to."""
    return {name: ArgumentMapping(None) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMapping:
    """Which field says how things stand; ``ready`` None: whatever is neither busy nor
    failed.  Words are compared in lower case."""

    body_key: str | None = "status"
    busy: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset({"error"})
    ready: frozenset[str] | None = None
    absent: frozenset[str] = frozenset({"deleted"})
    reason_key: str | None = None


NO_STATUS = StatusMapping(body_key=None)


@dataclass(frozen=True, slots=True)
class PhysicalResource:
    """A thing that exists, as parts of it are put in place."""

    client: RestResourceClient
    path_id: str
    body: Mapping[str, Json]
    id_lookup: IdLookup
    context: ResourceContext


class SubResource(ABC):
    """Something that takes calls of its own, after the create and at an update.

    ``put`` may be called again after a crash: it must then change nothing twice.
    """

    property_names: frozenset[str]

    @abstractmethod
    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        """``before`` None: the thing is new."""

    def remove(self, made: PhysicalResource, wanted: Mapping[str, Json]) -> None:
        """What must go before the thing can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec:
    """One resource type.

    ``schema`` is the schemas' file, ``service_auth`` the catalogue's word for it as users
    know it (neutron, nova).  ``places`` fill the thing's path from properties.
    ``fixed`` are arguments that every create sends.  ``null_when_blank`` are properties
    whose empty text means none.  An update that takes a property away sends what stands
    for none in its type, but null for ``null_when_unset`` and nothing for
    ``kept_when_unset``.  ``findable_by_content``: no two things are alike.
    ``immutable``: the service changes nothing of it.  ``together`` are properties of
    which an update sends all when it sends one, ``update_argument_names`` arguments that an update
    calls otherwise than a create.
    ``attributes`` maps attributes to the body's keys where they differ, dots leading
    inwards.  ``deletes_asynchronously``: the service deletes in its own time.
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
    null_when_blank: frozenset[str] = frozenset()
    null_when_unset: frozenset[str] = frozenset()
    kept_when_unset: frozenset[str] = frozenset()
    findable_by_content: bool = False
    immutable: bool = False
    updated_together: frozenset[str] = frozenset()
    update_argument_names: Mapping[str, str] = field(default_factory=dict)
    status_mapping: StatusMapping = NO_STATUS
    attribute_paths: Mapping[str, str] = field(default_factory=dict)
    subresources: tuple[SubResource, ...] = ()
    deletes_asynchronously: bool = False
    has_name: bool = True
    implicit_dependencies: tuple[ImplicitDependency, ...] = ()
    test_environment: str = "emulation"
