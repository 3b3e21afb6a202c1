"""The protocol of a resource type: a schema and verbs that return quickly.

Implemented by built-in types, by the declarative driver and by third parties (entry point group
``heat_convergence.resource_types``). A verb never waits for a service to finish: it starts the
work and reports the state that it observes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from heat_convergence.common.errors import ResourceActionNotSupported
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.stack_source import StackSource
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.template.environment.readiness import ReadinessLevel

Json = Any


@dataclass(frozen=True, slots=True)
class ImplicitDependency:
    """A dependency between two resource types that no reference expresses.

    A resource with a value at ``own_path`` requires every resource of ``other_type`` that has the
    same value at ``other_path``, or all of that type when ``other_path`` is None. Paths are
    property names with dots, through lists.
    """

    own_path: str
    other_type: str
    other_path: str | None = None


class ResourceType(ABC):
    """A resource type; stateless, one object per process."""

    name: ClassVar[str]
    schema: ClassVar[TypeSchema]
    local: ClassVar[bool] = False  # True: verbs have no effects and never block
    has_nested_stack: ClassVar[bool] = False  # True: its physical resource is a nested stack
    physical_name_limit: ClassVar[int] = 255  # characters of the physical name
    implicit_dependencies: ClassVar[Sequence[ImplicitDependency]] = ()
    property_aliases: ClassVar[Mapping[str, Sequence[str]]] = {}  # property path → old paths
    observes_across_stacks: ClassVar[bool] = False  # True: observe_many takes several stacks'
    service: ClassVar[str | None] = None  # service type; unavailable without an endpoint of it
    allows_snapshot_on_delete: ClassVar[bool] = False  # deletion policy Snapshot is allowed
    replace_when_check_failed: ClassVar[bool] = True
    replace_on_update: ClassVar[bool] = False  # True: every update replaces it, changed or not
    update_repairs_failure: ClassVar[bool] = False  # True: an update may repair a failed one
    restored_in_place: ClassVar[bool] = False  # True: create restores a missing one, same id
    releases_identity: ClassVar[bool] = False  # True: reads ``ResourceContext.predecessors``
    no_signal_actions: ClassVar[frozenset[Action]] = frozenset({Action.SUSPEND, Action.DELETE})
    acts_on_signals: ClassVar[bool] = False  # True: a signal needs requests to a service
    secret_data: ClassVar[frozenset[str]] = frozenset()  # keys of data that are never shown
    secret_attributes: ClassVar[frozenset[str]] = frozenset()  # as of secret_data, of attributes
    observes_dependencies: ClassVar[bool] = False  # True: reads ``ResourceContext.dependencies``
    stack_source_property: ClassVar[str | None] = None  # changes with the stack's files
    server_property: ClassVar[str | None] = None  # the property that refers to a server
    extension: str | None = None  # of the type's service, without which there is no such type
    # Type of a dependent, or a pattern of types → the level of this one at which it may start.
    dependent_levels: ClassVar[Mapping[str, ReadinessLevel]] = {}

    @property
    def may_await_signal(self) -> bool:
        """True if a signal to the resource, or to one that it needs, may end its wait."""
        takes_signals = type(self).signal is not ResourceType.signal
        return takes_signals or self.observes_dependencies

    @abstractmethod
    def create(self, context: ResourceContext) -> VerbResult:
        """Start to create the physical resource, named ``context.physical_name``."""

    @abstractmethod
    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change the physical resource in place.

        Args:
            context: The resource with the properties recorded last.
            after: The new properties.
            changed: Names of the properties that differ, all of them ``update_allowed``.

        Raises:
            NeedsReplacement: Only a new incarnation can have the new properties.
        """

    @abstractmethod
    def delete(self, context: ResourceContext) -> VerbResult:
        """Start to delete; a resource that is already missing is ABSENT, no error."""

    @abstractmethod
    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the physical resource's state for ``context.action``, changing nothing."""

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical id of what an earlier, lost ``create`` made, or None."""
        return None

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Complete a lost create whose result ``find`` returned, and observe it.

        ``context.physical_id`` is the id that was found. The work that the create had still to do
        is done.
        """
        return self.observe(context)

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe many resources at once; return resource id → result."""
        return {context.resource_id: self.observe(context) for context in contexts}

    def drifted_properties(self, context: ResourceContext, result: VerbResult) -> frozenset[str]:
        """Return the names of properties whose observed values differ from the recorded ones.

        All of them are ``update_allowed``, and the result is READY. Empty where the type cannot
        tell.
        """
        return frozenset()

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether an in-place change is impossible though all are update_allowed."""
        return False

    def repeated_properties(self, properties: Mapping[str, Json]) -> frozenset[str]:
        """Return properties that every update of the stack sets again, although equal.

        A failed resource that has some is updated, not replaced.

        Args:
            properties: The properties; when the update is planned, some have no value yet.
        """
        return frozenset()

    def outdated_by_metadata(
        self, data: Mapping[str, Json], read_metadata: Callable[[], Mapping[str, Json]]
    ) -> frozenset[str]:
        """Return properties to set again, although equal, for the guest to get new metadata.

        Args:
            data: The resource data recorded last.
            read_metadata: Returns the metadata of the new template.
        """
        return frozenset()

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Compare with the physical resource for CHECK; None if the type has no check."""
        return None

    def suspend(self, context: ResourceContext) -> VerbResult | None:
        """Start to suspend.

        None when the type has nothing to do, which completes the action at once. The same holds
        for ``resume`` and ``snapshot``.
        """
        return None

    def resume(self, context: ResourceContext) -> VerbResult | None:
        """Start to resume a suspended resource."""
        return None

    def snapshot(self, context: ResourceContext) -> VerbResult | None:
        """Start to take a snapshot, for SNAPSHOT and before a delete that requires one.

        The snapshot is described in ``VerbResult.data``. A snapshot made by an earlier attempt is
        found by ``context.resource_snapshot_name``; ``context.data`` may describe an earlier
        snapshot.
        """
        return None

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return properties that restore a snapshot, over those of the restored template.

        Args:
            data: The resource data recorded with the snapshot.
        """
        return {}

    def delete_snapshot(self, context: ResourceContext) -> None:  # most keep nothing
        """Delete a snapshot; one that is already missing is no error.

        ``context.data`` is the data recorded with the snapshot. It is empty when the snapshot's
        end was not observed: then ``context.resource_snapshot_name`` finds what was made, if
        anything.
        """

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        """Handle a signal within a transaction that holds the row.

        The row is locked so that of two signals none is lost: no I/O here. Everything to remember
        goes into ``SignalResult.data`` whole; ``context.data`` is what was remembered before. The
        other verbs of a type that takes signals leave ``VerbResult.data`` None, or they might
        undo a concurrent signal. After the commit the resource itself, if it is BUSY, and every
        BUSY one that needs it are observed without delay, as they are after each call, for
        the signals that arrived during it: a type whose ``observe`` decides by
        another resource's signals sets ``observes_dependencies`` and reads
        ``context.dependencies[name].data``. It is not called during the actions in
        ``no_signal_actions``.

        Args:
            context: The signalled resource.
            details: The body that the sender gave: a map, or None for no body.

        Raises:
            ResourceActionNotSupported: The type takes no signals.
            Invalid: The details cannot be read.
        """
        raise ResourceActionNotSupported("signal is not supported for resource.")

    def act_on_signal(self, context: ResourceContext, details: Json) -> Json:
        """Do at a service what a signal asks for, before the signal is recorded.

        Called without a lock for types that set ``acts_on_signals``; ``context.cloud`` acts for
        the stack. A signal whose recording fails may have been acted on.

        Returns:
            The details that ``signal`` gets.
        """
        return details

    def scaled_group_id(self, properties: Mapping[str, Json]) -> str | None:
        """Return the physical id of the group that signals scale; None for most types."""
        return None

    def read_existing(self, context: ResourceContext) -> VerbResult | None:
        """Read an object that a stack is to import, changing nothing.

        Args:
            context: The resource with the properties of the template, whose cloud is that of the
                requesting user.

        Returns:
            The result, with all that ``observe`` records; None if the type cannot import.

        Raises:
            ResourceGone: There is no such object.
        """
        return None

    def handover_obstacle(self, context: ResourceContext) -> str:
        """Return why the resource cannot get another name or stack; empty if it can."""
        return ""

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the value of ``get_resource``."""
        return context.physical_id or context.name

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return one attribute's value; None when it has none yet.

        ``show`` and the names in the schema are read from the recorded attributes.
        """
        return context.attributes.get(name)

    def attribute_at_path(
        self, context: ResourceContext, name: str, path: tuple[Json, ...]
    ) -> Json:
        """Return an attribute, for types whose value depends on the path that is read.

        Such types return an ``evaluate.ValueAtPath``.
        """
        return self.attribute(context, name)

    def attribute_names(self, context: ResourceContext) -> Iterable[str]:
        """Return the names of all attributes that the resource has."""
        return self.schema.attributes

    def check_external(self, physical_id: str) -> None:
        """Check that the requesting user can read an ``external_id`` of a template.

        Raises:
            StackValidationFailed: There is no such physical resource.
        """

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the type's service.

        Raises:
            ResourceTypeUnavailable: There is no endpoint of the service.
        """

    def check_extension(self) -> None:
        """Ask the type's service, as the requesting user, whether it has what the type needs.

        Raises:
            ResourceTypeUnavailable: It lacks an extension.
        """

    def shown_metadata(
        self, context: ResourceContext, metadata: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata that clients read, made from the template's metadata."""
        return metadata

    def shows_deployments(self, context: ResourceContext) -> bool:
        """Return whether its metadata lists the deployments on it, as ``deployments``."""
        return False

    def accepts_deployments(self, properties: Mapping[str, Json]) -> bool:
        """Return whether software can be deployed on it.

        Properties whose values are not known yet are left out.
        """
        return True

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return whether data or attributes contain secrets, with these properties.

        Values of properties may not be known yet.
        """
        return bool(self.secret_data)

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Check which properties a template assigns, their values known or not.

        Raises:
            StackValidationFailed: As ``validate``.
        """

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check properties beyond their schema; those not known yet are left out.

        Args:
            properties: The known properties, converted and with defaults.
            timeout_s: The stack's timeout in seconds, or None.

        Raises:
            StackValidationFailed: A property is wrong; its path is relative to ``properties``.
        """

    def validate_remotely(self, properties: Mapping[str, Json], source: StackSource) -> None:
        """Let another service validate known properties, as the user of the request.

        Called only for types that set ``stack_source_property``.

        Raises:
            StackValidationFailed: The service refuses them; clients receive the text unchanged.
        """


class ResourceTypeFinder(Protocol):
    """Resource types by name, as ``ResourceTypeRegistry`` has them."""

    def get(self, name: str) -> ResourceType:
        """Return the type of this name.

        Raises:
            EntityNotFound: There is none.
        """
