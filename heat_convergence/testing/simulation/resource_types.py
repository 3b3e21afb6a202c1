"""The simulated cloud's resource types.

They answer like drivers of a real service: at once, with the present state.  Each
action passes the ``CallInterceptor`` before and after its effect; there the environment
lets time pass, raises errors or kills the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import (
    NeedsReplacement,
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.testing.simulation.cloud import (
    CloudObject,
    ObjectOwner,
    SimulatedCloud,
)
from heat_convergence.testing.simulation.workload.template_notation import (
    STAGED_LEVELS,
    address_attribute,
)

Json = Any
SNAPSHOT_ID = "snapshot_id"  # key in a resource's data: the id of its snapshot in the cloud
_SIGNAL_TIMEOUT_S = 43_200.0  # so long that a missed signal is not noticed by chance
SIGNAL_COUNT = "signal_count"  # key in a resource's data: the number of signals received


class CallInterceptor(Protocol):
    """Hooks around the calls of a resource type."""

    def before_call(self, action: Action, view: ResourceContext) -> None:
        """Run before the effect of a call; may raise a service error."""

    def after_call(self, action: Action, view: ResourceContext) -> None:
        """Run after the effect of a call; may raise a service error."""

    def before_observe(self, views: Sequence[ResourceContext]) -> None:
        """Run before a read of several objects; may raise a service error."""

    def answered(self, results: Mapping[str, VerbResult]) -> Mapping[str, VerbResult]:
        """Return what a read of several objects has found; time may pass before."""

    def work_duration_s(self, action: Action, view: ResourceContext) -> float:
        """Return how long the cloud takes for the action."""

    def provision_fault(self, view: ResourceContext) -> str | None:
        """Return ``slow``, ``error`` or ``never`` if a creation goes wrong."""

    def note_signal_wait(self, view: ResourceContext) -> None:
        """Note that a resource waits for a signal."""

    def record_failures(self, view: ResourceContext) -> AbstractContextManager[None]:
        """Note errors that the cloud itself raises inside the block."""


def _property(
    property_type: PropertyType, default: Json, *, update_allowed: bool
) -> PropertySchema:
    return PropertySchema(type=property_type, default=default, update_allowed=update_allowed)


def _schema(*, in_place: bool) -> TypeSchema:
    return TypeSchema(
        properties={
            "size": _property(PropertyType.INTEGER, 1, update_allowed=in_place),
            "replace_key": _property(PropertyType.INTEGER, 1, update_allowed=in_place),
            "flavor": _property(PropertyType.STRING, "plain", update_allowed=False),
            "snapshot_id": _property(PropertyType.STRING, "", update_allowed=in_place),
            "references": _property(PropertyType.LIST, [], update_allowed=in_place),
            "attributes": _property(PropertyType.LIST, [], update_allowed=in_place),
        },
        attributes={"address": AttributeSchema(), "size": AttributeSchema()},
    )


class SimulatedType(ResourceType):
    """A type updated in place, but for ``flavor`` and ``replace_key``.

    A change of ``flavor`` is known to need a replacement; a change of ``replace_key`` turns out
    to need one when the update is tried.
    """

    name = "Sim::Resource"
    schema = _schema(in_place=True)
    allows_snapshot_on_delete = True

    def __init__(self, cloud: SimulatedCloud, interceptor: CallInterceptor) -> None:
        self._cloud = cloud
        self._interceptor = interceptor

    def create(self, view: ResourceContext) -> VerbResult:
        """Create an object, which may be slow, fail, or never become ready."""
        self._interceptor.before_call(Action.CREATE, view)
        fault = self._interceptor.provision_fault(view)
        duration_s = self._interceptor.work_duration_s(Action.CREATE, view)
        created = self._cloud.create(
            name=view.physical_name,
            type_name=self.name,
            owner=ObjectOwner(view.stack_id, view.resource_id),
            properties=view.properties,
            duration_s={"slow": duration_s + 60, "never": 1e9}.get(fault or "", duration_s),
        )
        created.in_error = fault == "error"
        self._interceptor.after_call(Action.CREATE, view)
        return self._present_state(created, view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Replace the properties; ``NeedsReplacement`` if ``replace_key`` changes."""
        if after["replace_key"] != view.properties.get("replace_key"):
            raise NeedsReplacement
        self._interceptor.before_call(Action.UPDATE, view)
        duration_s = self._interceptor.work_duration_s(Action.UPDATE, view)
        with self._interceptor.record_failures(view):
            updated = self._cloud.update(view.physical_id, after, duration_s)
        self._interceptor.after_call(Action.UPDATE, view)
        return self._present_state(updated, view)

    def delete(self, view: ResourceContext) -> VerbResult:
        """Start to delete the object, if it exists."""
        self._interceptor.before_call(Action.DELETE, view)
        if self._cloud.get(view.physical_id) is None:
            return VerbResult(ObservedState.ABSENT)
        deleted = self._cloud.delete(
            view.physical_id, self._interceptor.work_duration_s(Action.DELETE, view)
        )
        self._interceptor.after_call(Action.DELETE, view)
        return VerbResult(
            ObservedState.BUSY if self._cloud.exists(deleted) else ObservedState.ABSENT
        )

    def observe(self, view: ResourceContext) -> VerbResult:
        """Return the present state."""
        return self._observed(view)

    def drifted_properties(self, view: ResourceContext, look: VerbResult) -> frozenset[str]:
        """Return the updatable properties that differ from the recorded ones."""
        found = self._cloud.get(view.physical_id)
        actual = {} if found is None else found.properties
        names = [name for name in self.schema.properties if self.schema.update_allowed(name)]
        return frozenset(n for n in names if n in actual and actual[n] != view.properties[n])

    def observe_many(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Return the present states by resource id, after one read."""
        self._interceptor.before_observe(views)
        return self._interceptor.answered(
            {view.resource_id: self._observed(view) for view in views}
        )

    def find(self, view: ResourceContext) -> str | None:
        """Return the id of the object with the physical name, or None."""
        with self._interceptor.record_failures(view):
            self._interceptor.before_observe([view])
        found = self._cloud.find(view.physical_name)
        return None if found is None else found.id

    def check(self, view: ResourceContext) -> VerbResult:
        """Return the present state; ``ResourceFailure`` if nothing was created."""
        with self._interceptor.record_failures(view):
            self._interceptor.before_observe([view])
            if view.physical_id is None:
                raise ResourceFailure("it was never created")
        return self._observed(view)

    def suspend(self, view: ResourceContext) -> VerbResult:
        """Suspend the object."""
        self._interceptor.before_call(Action.SUSPEND, view)
        with self._interceptor.record_failures(view):
            self._cloud.suspend(view.physical_id)
        self._interceptor.after_call(Action.SUSPEND, view)
        return self._observed(view)

    def resume(self, view: ResourceContext) -> VerbResult:
        """Resume the object."""
        self._interceptor.before_call(Action.RESUME, view)
        with self._interceptor.record_failures(view):
            self._cloud.resume(view.physical_id)
        self._interceptor.after_call(Action.RESUME, view)
        return self._observed(view)

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        """Start to save the object, unless a deletion finds nothing that could be saved."""
        name = view.resource_snapshot_name
        source = self._cloud.get(view.physical_id)
        saved = self._cloud.find_snapshot(name)
        if view.action is Action.DELETE and saved is None and not self._can_be_saved(source):
            return VerbResult(ObservedState.READY, view.physical_id)
        self._interceptor.before_call(Action.SNAPSHOT, view)
        with self._interceptor.record_failures(view):
            duration_s = self._interceptor.work_duration_s(Action.SNAPSHOT, view)
            saved = self._cloud.find_snapshot(name) or self._cloud.create_snapshot(
                view.physical_id, name, view.stack_id, duration_s
            )
        self._interceptor.after_call(Action.SNAPSHOT, view)
        return self._snapshot_state(replace(view, data={**view.data, SNAPSHOT_ID: saved.id}))

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the property that names the snapshot to restore from."""
        return {"snapshot_id": data[SNAPSHOT_ID]} if data.get(SNAPSHOT_ID) else {}

    def delete_snapshot(self, view: ResourceContext) -> None:
        """Delete the snapshot, found by its id or its name."""
        self._interceptor.before_observe([view])
        found = self._cloud.find_snapshot(view.resource_snapshot_name)
        snapshot_id = view.data.get(SNAPSHOT_ID) or (found.id if found is not None else None)
        if snapshot_id is not None:
            self._cloud.delete_snapshot(snapshot_id)

    def _can_be_saved(self, source: CloudObject | None) -> bool:
        return source is not None and self._cloud.can_be_snapshotted(source)

    def _snapshot_state(self, view: ResourceContext) -> VerbResult:
        saved = self._cloud.snapshots.get(view.data.get(SNAPSHOT_ID) or "")
        if saved is None or not saved.exists:
            return VerbResult(
                ObservedState.FAILED, view.physical_id, reason="its snapshot does not exist"
            )
        ready = self._cloud.has_passed(saved.ready_at_s)
        return VerbResult(
            ObservedState.READY if ready else ObservedState.BUSY, view.physical_id, data=view.data
        )

    def _observed(self, view: ResourceContext) -> VerbResult:
        found = self._cloud.get(view.physical_id)
        if found is None:
            return VerbResult(ObservedState.ABSENT, reason="it does not exist")
        if view.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=found.id)
        if view.action is Action.SNAPSHOT and view.data.get(SNAPSHOT_ID):
            return self._snapshot_state(view)
        return self._present_state(found, view)

    def _present_state(self, found: CloudObject, view: ResourceContext) -> VerbResult:
        size = found.properties["size"]
        attributes = {"address": address_attribute(found.id, size), "size": size}
        if self._is_error_shown(found):
            return VerbResult(
                ObservedState.FAILED,
                found.id,
                attributes,
                reason="it went to ERROR",
                retry_with_new_incarnation=view.action is Action.CREATE,
            )
        state = ObservedState.BUSY if self._cloud.is_busy(found) else ObservedState.READY
        return VerbResult(state, found.id, attributes)

    def _is_error_shown(self, found: CloudObject) -> bool:
        return found.in_error


class ImmutableType(SimulatedType):
    """A type of which no property can be updated in place."""

    name = "Sim::Immutable"
    schema = _schema(in_place=False)
    allows_snapshot_on_delete = False

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        """Save nothing."""
        return None


class SignalledType(SimulatedType):
    """A type that is ready only after it received a signal."""

    name = "Sim::Signalled"
    allows_snapshot_on_delete = False

    def create(self, view: ResourceContext) -> VerbResult:
        """Create an object, which need not be observed before its signal."""
        result = super().create(view)
        if result.observed is not ObservedState.BUSY:
            return result
        return replace(result, poll_after_s=_SIGNAL_TIMEOUT_S)

    def signal(self, view: ResourceContext, details: Json) -> SignalResult:
        """Count the signal."""
        count = view.data.get(SIGNAL_COUNT, 0) + 1
        return SignalResult(f"signal {count}", {**view.data, SIGNAL_COUNT: count})

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        """Save nothing."""
        return None

    def _present_state(self, found: CloudObject, view: ResourceContext) -> VerbResult:
        result = super()._present_state(found, view)
        waiting = view.action in (Action.CREATE, Action.UPDATE) and not view.data.get(SIGNAL_COUNT)
        if result.observed is not ObservedState.READY or not waiting:
            return result
        self._interceptor.note_signal_wait(view)
        return replace(result, observed=ObservedState.BUSY, poll_after_s=_SIGNAL_TIMEOUT_S)


def find_signal_mistake(row: Resource, sent: int, now: datetime) -> str | None:
    """Return what is wrong with the signals that were sent to a resource, None if nothing is."""
    received, observation = row.physical.data.get(SIGNAL_COUNT, 0), row.observation
    if received < sent:
        return "has lost a signal"
    if not received or observation.state is not ObservedState.BUSY:
        return None
    if row.job.state is not JobState.AWAITING_OBSERVATION or observation.observe_at is None:
        return None
    left_s = (observation.observe_at - now).total_seconds()
    return "waits for a signal that it has" if left_s > _SIGNAL_TIMEOUT_S / 2 else None


class StagedType(SimulatedType, Watchable):
    """A type that reaches its readiness levels one after the other, and may lose its health."""

    name = "Sim::Staged"
    allows_snapshot_on_delete = False
    dependent_levels = STAGED_LEVELS

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        """Save nothing."""
        return None

    def _present_state(self, found: CloudObject, view: ResourceContext) -> VerbResult:
        result = super()._present_state(found, view)
        if found.in_error and result.observed is ObservedState.READY:
            result = replace(result, observed=ObservedState.BUSY)
        return replace(result, level=self._cloud.level_of(found))

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read by one call."""
        return self.observe_many(contexts)

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Compare nothing."""
        return {}

    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Find no difference."""
        return ()

    def _is_error_shown(self, found: CloudObject) -> bool:
        """Return whether it has got so far that its error shows: others may have started."""
        return found.in_error and self._cloud.level_of(found) is None
