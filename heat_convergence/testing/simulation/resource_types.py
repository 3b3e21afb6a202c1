"""The simulated cloud's resource types.

They answer like drivers of a real service: at once, with how things stand.  Each
verb passes the ``gate`` before and after its effect, where the world lets time
pass, raises the service's errors or ends the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import (
    NeedsReplacement,
    ResourceContext,
    ResourceType,
    SignalResult,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.testing.simulation.cloud import CloudObject, SimulatedCloud
from heat_convergence.testing.simulation.workload.template_notation import address_attribute

Json = Any
SNAPSHOT_ID = "copy"  # in data: the id of what a snapshot saved
SIGNAL_COUNT = "rung"  # in data: how many signals were taken


class CallInterceptor(Protocol):
    """The world around a call."""

    def before_call(self, verb: Action, view: ResourceContext) -> None: ...
    def after_call(self, verb: Action, view: ResourceContext) -> None: ...
    def before_observe(self, views: Sequence[ResourceContext]) -> None: ...
    def work_duration_s(self, verb: Action, view: ResourceContext) -> float: ...
    def provision_fault(self, view: ResourceContext) -> str | None: ...
    def note_signal_wait(self, view: ResourceContext) -> None: ...
    def record_failures(self, view: ResourceContext) -> AbstractContextManager[None]: ...


def _schema(*, in_place: bool) -> TypeSchema:
    def prop(property_type: PropertyType, default: Json, *, fixed: bool = False) -> PropertySchema:
        return PropertySchema(
            type=property_type, default=default, update_allowed=in_place and not fixed
        )

    return TypeSchema(
        properties={
            "size": prop(PropertyType.INTEGER, 1),
            "grip": prop(PropertyType.INTEGER, 1),
            "flavor": prop(PropertyType.STRING, "plain", fixed=True),
            "source": prop(PropertyType.STRING, ""),
            "refs": prop(PropertyType.LIST, []),
            "reads": prop(PropertyType.LIST, []),
        },
        attributes={"address": AttributeSchema(), "size": AttributeSchema()},
    )


class SimulatedType(ResourceType):
    """A thing whose properties change in place, but for ``flavor``; a change of
    ``grip`` turns out to need a replacement when it is tried."""

    name = "Sim::Thing"
    schema = _schema(in_place=True)
    allows_snapshot_on_delete = True

    def __init__(self, cloud: SimulatedCloud, gate: CallInterceptor) -> None:
        self._cloud = cloud
        self._gate = gate

    def create(self, view: ResourceContext) -> VerbResult:
        self._gate.before_call(Action.CREATE, view)
        birth = self._gate.provision_fault(view)
        takes_s = self._gate.work_duration_s(Action.CREATE, view)
        thing = self._cloud.create(
            name=view.physical_name,
            type_name=self.name,
            owner=(view.stack_id, view.resource_id),
            properties=view.properties,
            duration_s={"slow": takes_s + 60, "never": 1e9}.get(birth or "", takes_s),
        )
        thing.in_error = birth == "error"
        self._gate.after_call(Action.CREATE, view)
        return self._look(thing, view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        if after["grip"] != view.properties.get("grip"):
            raise NeedsReplacement
        self._gate.before_call(Action.UPDATE, view)
        takes_s = self._gate.work_duration_s(Action.UPDATE, view)
        with self._gate.record_failures(view):
            thing = self._cloud.update(view.physical_id, after, takes_s)
        self._gate.after_call(Action.UPDATE, view)
        return self._look(thing, view)

    def delete(self, view: ResourceContext) -> VerbResult:
        self._gate.before_call(Action.DELETE, view)
        if self._cloud.get(view.physical_id) is None:
            return VerbResult(ObservedState.ABSENT)
        thing = self._cloud.delete(
            view.physical_id, self._gate.work_duration_s(Action.DELETE, view)
        )
        self._gate.after_call(Action.DELETE, view)
        return VerbResult(
            ObservedState.BUSY if self._cloud.exists(thing) else ObservedState.ABSENT
        )

    def observe(self, view: ResourceContext) -> VerbResult:
        return self._seen(view)

    def drifted_properties(self, view: ResourceContext, look: VerbResult) -> frozenset[str]:
        thing = self._cloud.get(view.physical_id)
        known = {} if thing is None else thing.properties
        names = [name for name in self.schema.properties if self.schema.update_allowed(name)]
        return frozenset(n for n in names if n in known and known[n] != view.properties[n])

    def observe_many(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        self._gate.before_observe(views)
        return {view.resource_id: self._seen(view) for view in views}

    def find(self, view: ResourceContext) -> str | None:
        with self._gate.record_failures(view):
            self._gate.before_observe([view])
        thing = self._cloud.find(view.physical_name)
        return None if thing is None else thing.id

    def check(self, view: ResourceContext) -> VerbResult:
        with self._gate.record_failures(view):
            self._gate.before_observe([view])
            if view.physical_id is None:
                raise ResourceFailure("it was never created")
        return self._seen(view)

    def suspend(self, view: ResourceContext) -> VerbResult:
        self._gate.before_call(Action.SUSPEND, view)
        with self._gate.record_failures(view):
            self._cloud.suspend(view.physical_id)
        self._gate.after_call(Action.SUSPEND, view)
        return self._seen(view)

    def resume(self, view: ResourceContext) -> VerbResult:
        self._gate.before_call(Action.RESUME, view)
        with self._gate.record_failures(view):
            self._cloud.resume(view.physical_id)
        self._gate.after_call(Action.RESUME, view)
        return self._seen(view)

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        thing = self._cloud.get(view.physical_id)
        copy = self._cloud.find_snapshot(view.resource_snapshot_name)
        dying = view.action is Action.DELETE
        if dying and copy is None and (thing is None or not self._cloud.can_be_snapshotted(thing)):
            return VerbResult(ObservedState.READY, view.physical_id)
        self._gate.before_call(Action.SNAPSHOT, view)
        with self._gate.record_failures(view):
            takes_s = self._gate.work_duration_s(Action.SNAPSHOT, view)
            copy = self._cloud.find_snapshot(
                view.resource_snapshot_name
            ) or self._cloud.create_snapshot(
                view.physical_id, view.resource_snapshot_name, view.stack_id, takes_s
            )
        self._gate.after_call(Action.SNAPSHOT, view)
        return self._copied(replace(view, data={**view.data, SNAPSHOT_ID: copy.id}))

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"source": data[SNAPSHOT_ID]} if data.get(SNAPSHOT_ID) else {}

    def delete_snapshot(self, view: ResourceContext) -> None:
        self._gate.before_observe([view])
        found = self._cloud.find_snapshot(view.resource_snapshot_name)
        copy_id = view.data.get(SNAPSHOT_ID) or (found.id if found is not None else None)
        if copy_id is not None:
            self._cloud.delete_snapshot(copy_id)

    def _copied(self, view: ResourceContext) -> VerbResult:
        copy = self._cloud.snapshots.get(view.data.get(SNAPSHOT_ID))
        if copy is None or not copy.exists:
            return VerbResult(ObservedState.FAILED, view.physical_id, reason="there is no copy")
        up = self._cloud.has_passed(copy.ready_at_s)
        return VerbResult(
            ObservedState.READY if up else ObservedState.BUSY, view.physical_id, data=view.data
        )

    def _seen(self, view: ResourceContext) -> VerbResult:
        thing = self._cloud.get(view.physical_id)
        if thing is None:
            return VerbResult(ObservedState.ABSENT, reason="it is not there")
        if view.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=thing.id)
        if view.action is Action.SNAPSHOT and view.data.get(SNAPSHOT_ID):
            return self._copied(view)
        return self._look(thing, view)

    def _look(self, thing: CloudObject, view: ResourceContext) -> VerbResult:
        size = thing.properties["size"]
        attributes = {"address": address_attribute(thing.id, size), "size": size}
        if thing.in_error:
            return VerbResult(
                ObservedState.FAILED, thing.id, attributes, reason="it went to ERROR"
            )
        state = ObservedState.BUSY if self._cloud.is_busy(thing) else ObservedState.READY
        return VerbResult(state, thing.id, attributes)


class ImmutableType(SimulatedType):
    """A thing of which nothing changes in place."""

    name = "Sim::Rock"
    schema = _schema(in_place=False)
    allows_snapshot_on_delete = False

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        return None


class SignalledType(SimulatedType):
    """A thing that is not up before it has been signalled, if ever."""

    name = "Sim::Bell"
    allows_snapshot_on_delete = False

    def signal(self, view: ResourceContext, details: Json) -> SignalResult:
        rung = view.data.get(SIGNAL_COUNT, 0) + 1
        return SignalResult(f"rung {rung}", {**view.data, SIGNAL_COUNT: rung})

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        return None

    def _look(self, thing: CloudObject, view: ResourceContext) -> VerbResult:
        look = super()._look(thing, view)
        waits = view.action in (Action.CREATE, Action.UPDATE) and not view.data.get(SIGNAL_COUNT)
        if look.observed is not ObservedState.READY or not waits:
            return look
        self._gate.note_signal_wait(view)
        return replace(look, observed=ObservedState.BUSY)
