"""The base of resource types whose physical resource is nothing but their own row.

Decides their defaults: created, deleted and found at once. Base of the built-in types that reach
no service. It must not do I/O or wait: waiting is a BUSY result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any

FOREVER = -1.0  # any negative wait
MAX_POLL_INTERVAL_S = 60.0  # the longest time between observations of a waiting resource


class LocalType(ResourceType):
    """A resource type without a physical resource outside the database."""

    local: ClassVar[bool] = True

    def create(self, context: ResourceContext) -> VerbResult:
        """Return READY; the physical name is the physical id."""
        return self.to_result(context, context.properties, physical_id=context.physical_name)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY with the attributes of the new properties."""
        return self.to_result(context, after, physical_id=context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Return ABSENT."""
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY, or ABSENT for a resource being deleted."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return self.to_result(context, context.properties, physical_id=context.physical_id)

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """Return READY with the attributes that these properties result in."""
        return VerbResult(
            ObservedState.READY,
            physical_id=physical_id,
            attributes=self.compute_attributes(properties),
        )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Return the attributes to record; None leaves them unchanged."""
        return None


def remaining_s(context: ResourceContext, wait_s: float) -> float:
    """Return the seconds until the current action has lasted ``wait_s``.

    A negative wait never ends: the result is infinity.
    """
    if wait_s < 0:
        return float("inf")
    return max(0.0, wait_s - (context.now - context.started_at).total_seconds())


def busy_result(left_s: float, *, physical_id: str | None) -> VerbResult:
    """Return BUSY until the end of a wait of known length."""
    return VerbResult(
        ObservedState.BUSY, physical_id=physical_id, poll_after_s=min(left_s, MAX_POLL_INTERVAL_S)
    )
