"""Base of the associations that are a state of one object, which its list shows.

Examples are the gateway and the routes of a router.  One list of these objects shows the
associations of all resources of a type.  Decides how they are read together; subclasses decide
what a body says.  It must not change anything.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.single_reads import MAX_SINGLE_READS
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class ListedAssociation(Association):
    """An association that the body of one object shows, of the type's own collection."""

    object_key: ClassVar[str]
    """The argument that has the id of the object."""

    @property
    def is_watched(self) -> bool:
        """True: the list of the objects shows all associations."""
        return True

    @abstractmethod
    def select_association(
        self, arguments: Mapping[str, Json], body: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the association that an object's body shows, or None if it shows none."""

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Read the object, and return the association that it shows."""
        body = self.client(context).get(arguments[self.object_key])
        return self.select_association(arguments, body)

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read the objects of all associations by one list call for each credential."""
        groups: dict[str, list[ResourceContext]] = {}
        for context in contexts:
            groups.setdefault(self.cloud(context).cache_key, []).append(context)
        results: dict[str, VerbResult] = {}
        for _key, members in sorted(groups.items()):
            results.update(self._read_associations(members))
        return results

    def _read_associations(self, contexts: Sequence[ResourceContext]) -> dict[str, VerbResult]:
        listed: dict[str, Mapping[str, Json]] = {
            str(body.get("id")): body for body in self.client(contexts[0]).list()
        }
        results: dict[str, VerbResult] = {}
        confirmations = 0
        for context in contexts:
            try:
                arguments = self.resolve_arguments(context, context.properties)
            except PhysicalResourceNameAmbiguity:
                continue  # nobody knows which object it is
            except EntityNotFound:
                results[context.resource_id] = VerbResult(ObservedState.ABSENT)
                continue
            body = listed.get(str(arguments[self.object_key]))
            if body is None and confirmations < MAX_SINGLE_READS:
                # RULE 10: the object's absence from a list proves nothing.
                confirmations += 1
                body = self._read_object(context, arguments)
                if body is None:
                    results[context.resource_id] = VerbResult(ObservedState.ABSENT)
            if body is not None:
                results[context.resource_id] = self._association_result(context, arguments, body)
        return results

    def _read_object(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        try:
            return self.client(context).get(arguments[self.object_key])
        except ResourceGone:
            return None

    def _association_result(
        self,
        context: ResourceContext,
        arguments: Mapping[str, Json],
        body: Mapping[str, Json],
    ) -> VerbResult:
        shown = self.select_association(arguments, body)
        if shown is None:
            return VerbResult(ObservedState.ABSENT, context.physical_id)
        return VerbResult(ObservedState.READY, context.physical_id, {"show": dict(shown)})
