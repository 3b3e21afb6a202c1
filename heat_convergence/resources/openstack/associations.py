"""Base of the types that associate two resources and have no id of their own.

Examples are ``RouterInterface`` and ``FloatingIPAssociation``.  What they create is a state of
another resource: a repeated create changes nothing, and to find it means to read that state.
Decides the verbs; subclasses decide the calls.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, Retry
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class Association(DeclarativeType):
    """A resource type whose physical resource is an association of others.

    ``resolve_arguments`` returns what is associated, as ids; all other methods take its result.
    """

    # The deletion of a replaced association would remove the one that replaces it.
    restored_in_place: ClassVar[bool] = True

    @property
    def is_watched(self) -> bool:
        """True if the associations are read one by one: no list shows them."""
        return self.spec.is_read_alone

    @abstractmethod
    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the associated resources' ids and further arguments.

        Raises:
            EntityNotFound: A property names a resource that does not exist.
        """

    @abstractmethod
    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the physical id, made of the arguments."""

    @abstractmethod
    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Create the association."""

    @abstractmethod
    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Delete the association; it raises ``ResourceGone`` if it is missing."""

    @abstractmethod
    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the service's body of the association, or None if there is none.

        Raises:
            ResourceGone: One of the associated resources is missing.
        """

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the association unless it exists."""
        arguments = self.resolve_arguments(context, context.properties)
        if self.read_association(context, arguments) is None:
            self.associate(context, arguments)
        return self._ready_result(context, arguments)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create the association unless it exists."""
        return self.create(context)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Replace the old association with the new one if the arguments differ."""
        before, arguments = (
            self.resolve_arguments(context, context.properties),
            self.resolve_arguments(context, after),
        )
        if before != arguments:
            self._disassociate_if_exists(context, before)
            self.associate(context, arguments)
        return self._ready_result(context, arguments)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the association."""
        if context.physical_id is not None:
            self._disassociate_if_exists(
                context, self.resolve_arguments(context, context.properties)
            )
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the association; a missing one is ABSENT."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        arguments = self.resolve_arguments(context, context.properties)
        try:
            current = self.read_association(context, arguments)
        except ResourceGone:
            current = None
        if current is None:
            return VerbResult(ObservedState.ABSENT, reason="the resources are not associated")
        if context.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=context.physical_id)
        return VerbResult(ObservedState.READY, context.physical_id, {"show": dict(current)})

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read each association; leave out those with a temporary error."""
        results = {}
        for context in contexts:
            try:
                results[context.resource_id] = self.observe(context)
            except Error as error:
                if error.retry is Retry.NEVER:
                    results[context.resource_id] = VerbResult.from_error(error)
        return results

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return nothing: an association has its properties, or does not exist."""
        return {}

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical id if the association exists; None without properties."""
        if not context.properties:
            return None  # without properties, the association is unknown
        arguments = self.resolve_arguments(context, context.properties)
        try:
            current = self.read_association(context, arguments)
        except ResourceGone:
            return None
        return None if current is None else self.association_id(arguments)

    def _disassociate_if_exists(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> None:
        try:
            self.disassociate(context, arguments)
        except ResourceGone:
            return

    def _ready_result(self, context: ResourceContext, arguments: Mapping[str, Json]) -> VerbResult:
        return VerbResult(
            ObservedState.READY, self.association_id(arguments), {"show": dict(arguments)}
        )
