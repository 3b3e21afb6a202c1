"""The protocol of resource types that the watch can read and compare.

Implemented by the declarative driver and, beside ``ResourceType``, by third parties. Called by
the observer for resources of complete stacks; nothing here may change a physical resource.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


@dataclass(frozen=True, slots=True)
class ProjectList:
    """The list call that shows the objects of one type in one project.

    Attributes:
        service: openstacksdk's name of the service.
        path: The path.
        query: The query parameters, sorted.
    """

    service: str
    path: str
    query: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of the objects in the response, in OpenStack's own APIs."""
        return self.path.removesuffix("/detail").rpartition("/")[2].replace("-", "_")


class Watchable(ABC):
    """A resource type whose resources can be read many at once and compared."""

    @property
    def is_watched(self) -> bool:
        """True if the watch reads the resources of this type."""
        return True

    @property
    def project_list(self) -> ProjectList | None:
        """The list that ``read_many`` requests for all resources; None if it is another way."""
        return None

    @abstractmethod
    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read resources of one project, region and service by as few calls as possible.

        Returns:
            Resource id → result, whose attribute ``show`` is the service's body. ABSENT only if
            a read of the one resource has confirmed it. Resources that could not be read are
            left out.

        Raises:
            Error: The service does not answer.
        """

    @abstractmethod
    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return property → observed value, of the properties that are set and can be compared."""

    @abstractmethod
    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Return the properties whose observed values differ from the applied ones.

        Args:
            context: The resource with the properties applied last.
            values: The observed values by property, of ``comparable_values``.
        """

    def restorable_properties(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of the properties that an update can restore after others changed them."""
        return frozenset(names)


def is_read_by_watch(resource_type: object) -> bool:
    """Return whether the watch reads the resources of a type."""
    return isinstance(resource_type, Watchable) and resource_type.is_watched
