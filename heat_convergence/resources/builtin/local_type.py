"""What types have in common whose reality is nothing but their own row.

Decides their defaults: made, gone and found at once.  Base of the built-in types
that reach no service.  Must not do I/O or wait: waiting is a BUSY look.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)

Json = Any

FOREVER = -1.0  # any negative wait
MAX_POLL_INTERVAL_S = 60.0  # at most this long between looks at something that waits


class LocalType(ResourceType):
    """``compute_attributes`` is what is written down at a look; None: nothing new."""

    local: ClassVar[bool] = True

    def create(self, context: ResourceContext) -> VerbResult:
        return self.to_result(context, context.properties, physical_id=context.physical_name)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return self.to_result(context, after, physical_id=context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return self.to_result(context, context.properties, physical_id=context.physical_id)

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """READY, with the attributes that these properties give."""
        return VerbResult(
            ObservedState.READY,
            physical_id=physical_id,
            attributes=self.compute_attributes(properties),
        )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return None


def remaining_s(context: ResourceContext, wait_s: float) -> float:
    """Seconds until the current action has lasted ``wait_s``; negative waits last
    for ever, and are told as infinity."""
    if wait_s < 0:
        return float("inf")
    return max(0.0, wait_s - (context.now - context.started_at).total_seconds())


def busy_result(left_s: float, *, physical_id: str | None) -> VerbResult:
    """Leave it alone for as long as it is known to last."""
    return VerbResult(
        ObservedState.BUSY, physical_id=physical_id, poll_after_s=min(left_s, MAX_POLL_INTERVAL_S)
    )
