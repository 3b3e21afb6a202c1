"""Drives resource types through their lives at a cloud, without engine or database.

A case is a few resources in order, the last of which is the one on trial.  ``{"get":
name}`` in properties stands for another's id, ``{"attr": [name, attribute]}`` for an
attribute, ``{"segment_of": name}`` for the one segment of a network, ``{"backup_of": name}`` for a
backup of a volume, which is deleted with the volume.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from heat_convergence.clients.rest import Request
from heat_convergence.common.errors import Error, ResourceGone, Retry
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.plugin import Look, NeedsReplacement, ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.schema import changed, resolve

PATIENCE = 120  # looks, or repetitions of what may be repeated


class Answer(Enum):
    TAKEN = "taken"
    LOST = "lost"


@dataclass
class Living:
    """One resource: its view as the rows would have it."""

    type: ResourceType
    view: View
    look: Look | None = None


@dataclass
class Driver:
    """``tick`` lets time pass between looks: for real, or the emulation's."""

    cloud: Any
    project_id: str
    registry: Registry
    tick: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    alive: dict[str, Living] = field(default_factory=dict)

    def create(
        self,
        name: str,
        type_name: str,
        properties: Mapping[str, Any],
        answer: Answer = Answer.TAKEN,
    ) -> Living:
        """``LOST``: as when an engine dies between the answer and our record."""
        kind = self.registry.get(type_name)
        resolved = resolve(kind.schema, self._filled(properties))
        kind.validate(resolved, None)
        resource_id = str(uuid.uuid4())
        now = self.now()
        view = View(
            stack_id="5b1f0b3e-0000-0000-0000-000000000000",
            stack_name="conformance",
            project_id=self.project_id,
            resource_id=resource_id,
            name=name,
            type=type_name,
            physical_name=f"hc-{name}-{resource_id[:8]}",
            physical_id=None,
            properties=resolved,
            attributes={},
            data={},
            action=Action.CREATE,
            started_at=now,
            now=now,
            random=random.Random(resource_id),
            cloud=self.cloud,
            copy_name=f"hc-{name}-{resource_id[:8]}-1",
        )
        living = self.alive[name] = Living(kind, view)
        look = self._persistently(lambda: kind.create(self._at(living)))
        if answer is Answer.LOST:
            made = look.physical_id
            found = self._persistently(lambda: kind.find(self._at(living)))
            assert found == made, f"made {made}, found {found}"
            there = replace(self._at(living), physical_id=found)
            look = replace(self._persistently(lambda: kind.found(there)), physical_id=found)
        self._note(living, look)
        return self.settle(living)

    def update(self, name: str, properties: Mapping[str, Any]) -> Living:
        living = self.alive[name]
        kind, before = living.type, living.view.properties
        after = resolve(kind.schema, self._filled(properties))
        names = changed(before, after)
        assert all(kind.schema.update_allowed(each) for each in names), names
        if kind.replaces_on(before, after, names):
            raise NeedsReplacement
        living.view = replace(living.view, action=Action.UPDATE, started_at=self.now())
        look = self._persistently(lambda: kind.update(self._at(living), after, names))
        living.view = replace(living.view, properties=after)
        self._note(living, look)
        return self.settle(living)

    def settle(self, living: Living) -> Living:
        """Looks until it is ready or has failed."""
        for _ in range(PATIENCE):
            look = living.look
            assert look is not None
            if look.observed is Observed.FAILED:
                raise AssertionError(f"{living.view.name} failed: {look.reason}")
            if look.observed is Observed.READY:
                return living
            if look.observed is Observed.ABSENT:
                raise AssertionError(f"{living.view.name} is gone: {look.reason}")
            self.tick(min(look.again_s, 2.0))
            self._note(living, self._persistently(lambda: living.type.observe(self._at(living))))
        raise AssertionError(f"{living.view.name} is still busy")

    def delete(self, name: str) -> None:
        living = self.alive[name]
        if "backup_id" in living.view.data:
            self._persistently(lambda: living.type.delete_snapshot(living.view))
        living.view = replace(living.view, action=Action.DELETE, started_at=self.now())
        look = self._persistently(lambda: _deleted(living.type, self._at(living)))
        for _ in range(PATIENCE):
            if look.observed is Observed.ABSENT:
                del self.alive[name]
                return
            assert look.observed is not Observed.FAILED, look.reason
            if look.data is not None or look.attributes is not None:
                self._note(living, look)
            self.tick(min(look.again_s, 2.0))
            look = self._persistently(lambda: living.type.observe(self._at(living)))
        raise AssertionError(f"{name} is not gone: {look}")

    def delete_all(self) -> None:
        for name in reversed(list(self.alive)):
            self.delete(name)

    def find(self, name: str) -> str | None:
        """As after a crash between the service's answer and our record."""
        living = self.alive[name]
        view = replace(
            living.view, physical_id=None, attributes={}, data={}, action=Action.CREATE,
            cloud=self.cloud, now=self.now(),
        )
        return living.type.find(view)

    def verb(self, name: str, action: Action) -> Living | None:
        living = self.alive[name]
        living.view = replace(living.view, action=action, started_at=self.now())
        verb = getattr(living.type, action.lower())
        look = self._persistently(lambda: verb(self._at(living)))
        if look is None:
            return None
        self._note(living, look)
        return self.settle(living)

    def attribute(self, name: str, attribute: str) -> Any:
        living = self.alive[name]
        return living.type.attribute(living.view, attribute)

    # -- below

    def _at(self, living: Living) -> View:
        living.view = replace(living.view, now=self.now())
        return living.view

    def _note(self, living: Living, look: Look) -> None:
        living.look = look
        view = living.view
        living.view = replace(
            view,
            physical_id=look.physical_id or view.physical_id,
            attributes=view.attributes if look.attributes is None else look.attributes,
            data=view.data if look.data is None else look.data,
        )

    def _segment(self, network: View) -> str:
        asked = Request("network", "GET", "/segments", query={"network_id": network.physical_id})
        (segment,) = self.cloud.send(asked).body["segments"]
        return str(segment["id"])

    def _backup(self, name: str) -> str:
        living = self.alive[name]
        if "backup_id" not in living.view.data:
            self.verb(name, Action.SNAPSHOT)
        return str(living.view.data["backup_id"])

    def _persistently(self, call: Callable[[], Any]) -> Any:
        for attempt in range(PATIENCE):
            try:
                return call()
            except Error as error:
                if error.retry is Retry.NEVER or attempt > PATIENCE // 2:
                    raise
                self.tick(getattr(error, "after_s", None) or 0.5)
        raise AssertionError("unreachable")

    def _filled(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"get"}:
                living = self.alive[value["get"]]
                return living.type.reference_id(living.view)
            if set(value) == {"attr"}:
                return self.attribute(*value["attr"])
            if set(value) == {"segment_of"}:
                return self._segment(self.alive[value["segment_of"]].view)
            if set(value) == {"backup_of"}:
                return self._backup(value["backup_of"])
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        return value


def _deleted(kind: ResourceType, view: View) -> Look:
    try:
        return kind.delete(view)
    except ResourceGone:
        return Look(Observed.ABSENT)
