"""The base of AWS types that stand for an OpenStack type with other properties.

Decides that every verb is that of the OpenStack type, with the properties translated: what is
created, found again after a crash, changed in place and deleted is decided there. A type decides
the translation and its own attributes. Must not call a service.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import NotFound
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.aws.type_schemas import load_aws_schema, load_head
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.properties import (
    changed_property_names,
    known_properties,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.protocol.watchable import Watchable

Json = Any


class TranslatedType(ResourceType, Watchable):
    """A type whose resources are those of another type.

    Attributes:
        target: The name of the OpenStack type.
        schema_group: The name of the schemas' file.
        same_values: Property of the target → the own property that has the same value.
    """

    observes_across_stacks: ClassVar[bool] = True
    target: ClassVar[str]
    schema_group: ClassVar[str] = "ec2"
    same_values: ClassVar[Mapping[str, str]] = {}

    def __init__(self, delegate: DeclarativeType) -> None:
        """Take over what the target type declares of its resources."""
        self.delegate = delegate
        self.schema = load_aws_schema(self.schema_group, self.name)  # type: ignore[misc]
        head = load_head(self.schema_group, self.name)
        self.physical_name_limit = head.get("name_limit", 255)  # type: ignore[misc]
        for name in (
            "service",
            "update_repairs_failure",
            "allows_snapshot_on_delete",
            "secret_data",
            "secret_attributes",
            "restored_in_place",
        ):
            setattr(self, name, getattr(delegate, name))
        own = type(self).releases_identity
        self.releases_identity = own or delegate.releases_identity  # type: ignore[misc]

    @abstractmethod
    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the target type, without defaults.

        Args:
            properties: The own properties.
            project_id: The project of the stack.
        """

    def look_up(self, context: ResourceContext, properties: Mapping[str, Json]) -> dict[str, Json]:
        """Return properties of the target type that services must be asked for.

        Called before a create and an update alone: other verbs do without them.
        """
        return {}

    def translated(self, context: ResourceContext) -> ResourceContext:
        """Return the context with the properties of the target type.

        Without those that are required, the properties of the resource are not known.
        """
        declared = self.schema.properties
        if any(declared[name].required and name not in context.properties for name in declared):
            return context
        properties = self._with_defaults(context.properties, context.project_id)
        return replace(context, properties=properties)

    def _with_defaults(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        translation = self.translate(properties, project_id).items()
        values = {name: value for name, value in translation if value is not None}
        # What ``look_up`` adds is required of templates, but not by verbs other than create.
        return known_properties(self.delegate.schema, values)

    # -- verbs

    def create(self, context: ResourceContext) -> VerbResult:
        """Create a resource of the target type."""
        found = self.look_up(context, context.properties)
        target_context = self.translated(context)
        properties = {**target_context.properties, **found}
        return self.delegate.create(replace(target_context, properties=properties))

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Complete a lost create."""
        return self.delegate.resume_create(self.translated(context))

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change the properties whose translations differ.

        When a property is to be set again with the same value, all properties are.
        """
        before = {
            **self._with_defaults(context.properties, context.project_id),
            **self._look_up_former(context),
        }
        desired = {
            **self._with_defaults(after, context.project_id),
            **self.look_up(context, after),
        }
        names = changed_property_names(before, desired)
        if changed - changed_property_names(context.properties, after):
            allowed = self.delegate.schema.update_allowed
            names |= {name for name in desired if allowed(name)}
        target_context = replace(context, properties=before)
        return self.delegate.update(target_context, desired, names)

    def _look_up_former(self, context: ResourceContext) -> dict[str, Json]:
        """Return what is found for the properties before an update; they may be outdated."""
        try:
            return self.look_up(context, context.properties)
        except (NotFound, ResourceFailure):
            return {}

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the resource of the target type."""
        return self.delegate.delete(self.translated(context))

    def observe(self, context: ResourceContext) -> VerbResult:
        """Observe the resource of the target type."""
        return self.delegate.observe(self.translated(context))

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe by the bulk reads of the target type."""
        return self.delegate.observe_many([self.translated(each) for each in contexts])

    def find(self, context: ResourceContext) -> str | None:
        """Find what a lost create made."""
        return self.delegate.find(self.translated(context))

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Check the resource of the target type."""
        return self.delegate.check(self.translated(context))

    def suspend(self, context: ResourceContext) -> VerbResult | None:
        """Suspend the resource of the target type."""
        return self.delegate.suspend(self.translated(context))

    def resume(self, context: ResourceContext) -> VerbResult | None:
        """Resume the resource of the target type."""
        return self.delegate.resume(self.translated(context))

    def snapshot(self, context: ResourceContext) -> VerbResult | None:
        """Take the snapshot that a deletion policy demands; stacks have no others of the type."""
        if context.action is not Action.DELETE:
            return None
        return self.delegate.snapshot(self.translated(context))

    def delete_snapshot(self, context: ResourceContext) -> None:
        """Delete a snapshot."""
        self.delegate.delete_snapshot(self.translated(context))

    # -- the watch

    @property
    def is_watched(self) -> bool:
        """True if the watch reads resources of the target type."""
        return self.delegate.is_watched

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read by the lists of the target type."""
        return self.delegate.read_many([self.translated(each) for each in contexts])

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the observed values that are those of own properties."""
        found = self.delegate.comparable_values(self.translated(context), result)
        return {
            own: found[name]
            for name, own in self.same_values.items()
            if name in found and own in context.properties
        }

    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Return the own properties whose observed values differ."""
        names = {own: name for name, own in self.same_values.items()}
        observed = {names[own]: value for own, value in values.items() if own in names}
        found = self.delegate.compare(self.translated(context), observed)
        return tuple(replace(drift, name=self.same_values[drift.name]) for drift in found)

    def drifted_properties(self, context: ResourceContext, result: VerbResult) -> frozenset[str]:
        """Return the own properties that differ and that an update can restore."""
        found = self.delegate.drifted_properties(self.translated(context), result)
        own = {self.same_values[name] for name in found if name in self.same_values}
        return frozenset(name for name in own if self.schema.update_allowed(name))

    # -- attributes and checks

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute of the target type."""
        return self.delegate.attribute(context, name)

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the service."""
        self.delegate.check_available()

    def check_external(self, physical_id: str) -> None:
        """Read the external resource as the requesting user."""
        self.delegate.check_external(physical_id)
