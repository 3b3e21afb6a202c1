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
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.plugin import (
    Look,
    NeedsReplacement,
    ResourceType,
    Signalled,
    View,
)
from heat_convergence.resources.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.testing.cloud import Cloud, Thing
from heat_convergence.testing.goals import address

Json = Any
COPY = "copy"  # in data: the id of what a snapshot saved
RUNG = "rung"  # in data: how many signals were taken


class Gate(Protocol):
    """The world around a call."""

    def before(self, verb: Action, view: View) -> None: ...
    def after(self, verb: Action, view: View) -> None: ...
    def looking(self, views: Sequence[View]) -> None: ...
    def takes_s(self, verb: Action, view: View) -> float: ...
    def birth(self, view: View) -> str | None: ...
    def waiting(self, view: View) -> None: ...
    def noted(self, view: View) -> AbstractContextManager[None]: ...


def _schema(*, in_place: bool) -> TypeSchema:
    def prop(kind: PropertyType, default: Json, *, fixed: bool = False) -> PropertySchema:
        return PropertySchema(type=kind, default=default, update_allowed=in_place and not fixed)

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
    snapshots_on_delete = True

    def __init__(self, cloud: Cloud, gate: Gate) -> None:
        self._cloud = cloud
        self._gate = gate

    def create(self, view: View) -> Look:
        self._gate.before(Action.CREATE, view)
        birth = self._gate.birth(view)
        takes_s = self._gate.takes_s(Action.CREATE, view)
        thing = self._cloud.create(
            name=view.physical_name,
            type_name=self.name,
            owner=(view.stack_id, view.resource_id),
            properties=view.properties,
            takes_s={"slow": takes_s + 60, "never": 1e9}.get(birth or "", takes_s),
        )
        thing.broken = birth == "error"
        self._gate.after(Action.CREATE, view)
        return self._look(thing, view)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        if after["grip"] != view.properties.get("grip"):
            raise NeedsReplacement
        self._gate.before(Action.UPDATE, view)
        takes_s = self._gate.takes_s(Action.UPDATE, view)
        with self._gate.noted(view):
            thing = self._cloud.update(view.physical_id, after, takes_s)
        self._gate.after(Action.UPDATE, view)
        return self._look(thing, view)

    def delete(self, view: View) -> Look:
        self._gate.before(Action.DELETE, view)
        if self._cloud.get(view.physical_id) is None:
            return Look(Observed.ABSENT)
        thing = self._cloud.delete(
            view.physical_id, self._gate.takes_s(Action.DELETE, view)
        )
        self._gate.after(Action.DELETE, view)
        return Look(Observed.BUSY if self._cloud.exists(thing) else Observed.ABSENT)

    def observe(self, view: View) -> Look:
        return self._seen(view)

    def differs(self, view: View, look: Look) -> frozenset[str]:
        thing = self._cloud.get(view.physical_id)
        known = {} if thing is None else thing.properties
        names = [name for name in self.schema.properties if self.schema.update_allowed(name)]
        return frozenset(n for n in names if n in known and known[n] != view.properties[n])

    def observe_many(self, views: Sequence[View]) -> Mapping[str, Look]:
        self._gate.looking(views)
        return {view.resource_id: self._seen(view) for view in views}

    def find(self, view: View) -> str | None:
        with self._gate.noted(view):
            self._gate.looking([view])
        thing = self._cloud.find(view.physical_name)
        return None if thing is None else thing.id

    def check(self, view: View) -> Look:
        with self._gate.noted(view):
            self._gate.looking([view])
            if view.physical_id is None:
                raise ResourceFailure("it was never created")
        return self._seen(view)

    def suspend(self, view: View) -> Look:
        self._gate.before(Action.SUSPEND, view)
        with self._gate.noted(view):
            self._cloud.pause(view.physical_id)
        self._gate.after(Action.SUSPEND, view)
        return self._seen(view)

    def resume(self, view: View) -> Look:
        self._gate.before(Action.RESUME, view)
        with self._gate.noted(view):
            self._cloud.wake(view.physical_id)
        self._gate.after(Action.RESUME, view)
        return self._seen(view)

    def snapshot(self, view: View) -> Look | None:
        thing = self._cloud.get(view.physical_id)
        copy = self._cloud.copy_named(view.copy_name)
        dying = view.action is Action.DELETE
        if dying and copy is None and (thing is None or not self._cloud.is_whole(thing)):
            return Look(Observed.READY, view.physical_id)
        self._gate.before(Action.SNAPSHOT, view)
        with self._gate.noted(view):
            takes_s = self._gate.takes_s(Action.SNAPSHOT, view)
            copy = self._cloud.copy_named(view.copy_name) or self._cloud.copy(
                view.physical_id, view.copy_name, view.stack_id, takes_s
            )
        self._gate.after(Action.SNAPSHOT, view)
        return self._copied(replace(view, data={**view.data, COPY: copy.id}))

    def restored(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"source": data[COPY]} if data.get(COPY) else {}

    def delete_snapshot(self, view: View) -> None:
        self._gate.looking([view])
        found = self._cloud.copy_named(view.copy_name)
        copy_id = view.data.get(COPY) or (found.id if found is not None else None)
        if copy_id is not None:
            self._cloud.drop_copy(copy_id)

    def _copied(self, view: View) -> Look:
        copy = self._cloud.copies.get(view.data.get(COPY))
        if copy is None or not copy.alive:
            return Look(Observed.FAILED, view.physical_id, reason="there is no copy")
        up = self._cloud.is_past(copy.up_at_s)
        return Look(Observed.READY if up else Observed.BUSY, view.physical_id, data=view.data)

    def _seen(self, view: View) -> Look:
        thing = self._cloud.get(view.physical_id)
        if thing is None:
            return Look(Observed.ABSENT, reason="it is not there")
        if view.action is Action.DELETE:
            return Look(Observed.BUSY, physical_id=thing.id)
        if view.action is Action.SNAPSHOT and view.data.get(COPY):
            return self._copied(view)
        return self._look(thing, view)

    def _look(self, thing: Thing, view: View) -> Look:
        size = thing.properties["size"]
        attributes = {"address": address(thing.id, size), "size": size}
        if thing.broken:
            return Look(Observed.FAILED, thing.id, attributes, reason="it went to ERROR")
        state = Observed.BUSY if self._cloud.at_work(thing) else Observed.READY
        return Look(state, thing.id, attributes)


class Rock(SimulatedType):
    """A thing of which nothing changes in place."""

    name = "Sim::Rock"
    schema = _schema(in_place=False)
    snapshots_on_delete = False

    def snapshot(self, view: View) -> Look | None:
        return None


class Bell(SimulatedType):
    """A thing that is not up before it has been signalled, if ever."""

    name = "Sim::Bell"
    snapshots_on_delete = False

    def signal(self, view: View, details: Json) -> Signalled:
        rung = view.data.get(RUNG, 0) + 1
        return Signalled(f"rung {rung}", {**view.data, RUNG: rung})

    def snapshot(self, view: View) -> Look | None:
        return None

    def _look(self, thing: Thing, view: View) -> Look:
        look = super()._look(thing, view)
        waits = view.action in (Action.CREATE, Action.UPDATE) and not view.data.get(RUNG)
        if look.observed is not Observed.READY or not waits:
            return look
        self._gate.waiting(view)
        return replace(look, observed=Observed.BUSY)
