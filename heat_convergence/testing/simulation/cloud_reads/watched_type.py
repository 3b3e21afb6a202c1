"""``Sim::Resource`` with lists, for simulations whose complete stacks are watched.

Takes the place of the type without lists; a ``CloudView`` decides what lists and reads show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.cloud_reads.cloud_view import CloudView
from heat_convergence.testing.simulation.resource_types import CallInterceptor, SimulatedType

Json = Any
_MAX_CONFIRMATIONS = 3  # single reads of objects that a list lacks
_COMPARED = "size"


class WatchedType(SimulatedType, Watchable):
    """``Sim::Resource`` with lists, which a ``CloudView`` shows."""

    def __init__(self, view: CloudView, interceptor: CallInterceptor) -> None:
        super().__init__(view.cloud, interceptor)
        self._view = view

    def observe(self, view: ResourceContext) -> VerbResult:
        """Return the present state as a read shows it."""
        if view.physical_id in self._view.unreachable_ids:
            return VerbResult(ObservedState.ABSENT, reason="it is not found")
        return super().observe(view)

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read by one list; some of the objects that it lacks are read alone."""
        self._view.list_times.setdefault(contexts[0].project_id, []).append(contexts[0].now)
        self._interceptor.before_observe(contexts)
        found: dict[str, VerbResult] = {}
        missing = []
        for context in contexts:
            listed = self._view.find_listed(context.physical_id)
            if listed is None:
                missing.append(context)
                self._view.note_missing(context.physical_id, context.now)
                continue
            shown = self._view.listed_properties(listed)
            found[context.resource_id] = self._shown_state(listed, context, shown)
        for context in missing[:_MAX_CONFIRMATIONS]:
            alone = self._view.get(context.physical_id)
            found[context.resource_id] = (
                VerbResult(ObservedState.ABSENT, context.physical_id)
                if alone is None
                else self._shown_state(alone, context, alone.properties)
            )
        return self._interceptor.answered(found)

    def _shown_state(
        self, found: CloudObject, context: ResourceContext, shown: Mapping[str, Json]
    ) -> VerbResult:
        """Return the state of an object; one that an old list shows looks as it was."""
        if not self._cloud.exists(found):
            return VerbResult(ObservedState.READY, found.id, {"show": dict(shown)})
        state = self._present_state(found, context)
        return VerbResult(state.observed, found.id, {"show": dict(shown)}, reason=state.reason)

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the size."""
        return {_COMPARED: ((result.attributes or {}).get("show") or {}).get(_COMPARED)}

    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Return the size if it differs."""
        applied, observed = context.properties.get(_COMPARED), values[_COMPARED]
        return () if applied == observed else (PropertyDrift(_COMPARED, applied, observed),)
