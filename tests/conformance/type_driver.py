"""Drives resource types through their lives at a cloud, without engine or database.

A case is a few resources in order, the last of which is the one on trial.  ``{"get":
name}`` in property_texts stands for another's id, ``{"attr": [name, attribute]}`` for an
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

from heat_convergence.clients.rest_client import CloudRequest
from heat_convergence.common.errors import Error, ResourceGone, Retry
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import (
    NeedsReplacement,
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import changed_property_names, resolve_properties
from heat_convergence.resources.registry import ResourceTypeRegistry

MAX_ATTEMPTS = 120  # looks, or repetitions of what may be repeated


class ResponseDelivery(Enum):
    RECEIVED = "taken"
    LOST = "lost"


@dataclass
class DrivenResource:
    """One resource: its view as the rows would have it."""

    type: ResourceType
    view: ResourceContext
    look: VerbResult | None = None


@dataclass
class ResourceTypeDriver:
    """``tick`` lets time pass between looks: for real, or the emulation's."""

    cloud: Any
    project_id: str
    registry: ResourceTypeRegistry
    advance_time: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    resources: dict[str, DrivenResource] = field(default_factory=dict)

    def create(
        self,
        name: str,
        type_name: str,
        properties: Mapping[str, Any],
        delivery: ResponseDelivery = ResponseDelivery.RECEIVED,
    ) -> DrivenResource:
        """``LOST``: as when an engine dies between the answer and our record."""
        kind = self.registry.get(type_name)
        resolved = resolve_properties(kind.schema, self._filled(properties))
        kind.validate(resolved, None)
        resource_id = str(uuid.uuid4())
        now = self.now()
        view = ResourceContext(
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
            resource_snapshot_name=f"hc-{name}-{resource_id[:8]}-1",
        )
        living = self.resources[name] = DrivenResource(kind, view)
        look = self._persistently(lambda: kind.create(self._at(living)))
        if delivery is ResponseDelivery.LOST:
            made = look.physical_id
            found = self._persistently(lambda: kind.find(self._at(living)))
            assert found == made, f"made {made}, found {found}"
            there = replace(self._at(living), physical_id=found)
            look = replace(
                self._persistently(lambda: kind.resume_create(there)), physical_id=found
            )
        self._note(living, look)
        return self.wait_until_ready(living)

    def update(self, name: str, properties: Mapping[str, Any]) -> DrivenResource:
        living = self.resources[name]
        kind, before = living.type, living.view.properties
        after = resolve_properties(kind.schema, self._filled(properties))
        names = changed_property_names(before, after)
        assert all(kind.schema.update_allowed(each) for each in names), names
        if kind.needs_replace(before, after, names):
            raise NeedsReplacement
        living.view = replace(living.view, action=Action.UPDATE, started_at=self.now())
        look = self._persistently(lambda: kind.update(self._at(living), after, names))
        living.view = replace(living.view, properties=after)
        self._note(living, look)
        return self.wait_until_ready(living)

    def wait_until_ready(self, living: DrivenResource) -> DrivenResource:
        """Looks until it is ready or has failed."""
        for _ in range(MAX_ATTEMPTS):
            look = living.look
            assert look is not None
            if look.observed is ObservedState.FAILED:
                raise AssertionError(f"{living.view.name} failed: {look.reason}")
            if look.observed is ObservedState.READY:
                return living
            if look.observed is ObservedState.ABSENT:
                raise AssertionError(f"{living.view.name} is gone: {look.reason}")
            self.advance_time(min(look.poll_after_s, 2.0))
            self._note(living, self._persistently(lambda: living.type.observe(self._at(living))))
        raise AssertionError(f"{living.view.name} is still busy")

    def delete(self, name: str) -> None:
        living = self.resources[name]
        if "backup_id" in living.view.data:
            self._persistently(lambda: living.type.delete_snapshot(living.view))
        living.view = replace(living.view, action=Action.DELETE, started_at=self.now())
        look = self._persistently(lambda: _deleted(living.type, self._at(living)))
        for _ in range(MAX_ATTEMPTS):
            if look.observed is ObservedState.ABSENT:
                del self.resources[name]
                return
            assert look.observed is not ObservedState.FAILED, look.reason
            if look.data is not None or look.attributes is not None:
                self._note(living, look)
            self.advance_time(min(look.poll_after_s, 2.0))
            look = self._persistently(lambda: living.type.observe(self._at(living)))
        raise AssertionError(f"{name} is not gone: {look}")

    def delete_all(self) -> None:
        for name in reversed(list(self.resources)):
            self.delete(name)

    def find(self, name: str) -> str | None:
        """As after a crash between the service's answer and our record."""
        living = self.resources[name]
        view = replace(
            living.view,
            physical_id=None,
            attributes={},
            data={},
            action=Action.CREATE,
            cloud=self.cloud,
            now=self.now(),
        )
        return living.type.find(view)

    def run_action(self, name: str, action: Action) -> DrivenResource | None:
        living = self.resources[name]
        living.view = replace(living.view, action=action, started_at=self.now())
        verb = getattr(living.type, action.lower())
        look = self._persistently(lambda: verb(self._at(living)))
        if look is None:
            return None
        self._note(living, look)
        return self.wait_until_ready(living)

    def attribute(self, name: str, attribute: str) -> Any:
        living = self.resources[name]
        return living.type.attribute(living.view, attribute)

    # -- below

    def _at(self, living: DrivenResource) -> ResourceContext:
        living.view = replace(living.view, now=self.now())
        return living.view

    def _note(self, living: DrivenResource, look: VerbResult) -> None:
        living.look = look
        view = living.view
        living.view = replace(
            view,
            physical_id=look.physical_id or view.physical_id,
            attributes=view.attributes if look.attributes is None else look.attributes,
            data=view.data if look.data is None else look.data,
        )

    def _segment(self, network: ResourceContext) -> str:
        asked = CloudRequest(
            "network", "GET", "/segments", query={"network_id": network.physical_id}
        )
        (segment,) = self.cloud.send(asked).body["segments"]
        return str(segment["id"])

    def _backup(self, name: str) -> str:
        living = self.resources[name]
        if "backup_id" not in living.view.data:
            self.run_action(name, Action.SNAPSHOT)
        return str(living.view.data["backup_id"])

    def _persistently(self, call: Callable[[], Any]) -> Any:
        for attempt in range(MAX_ATTEMPTS):
            try:
                return call()
            except Error as error:
                if error.retry is Retry.NEVER or attempt > MAX_ATTEMPTS // 2:
                    raise
                self.advance_time(getattr(error, "after_s", None) or 0.5)
        raise AssertionError("unreachable")

    def _filled(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"get"}:
                living = self.resources[value["get"]]
                return living.type.reference_id(living.view)
            if set(value) == {"attr"}:
                return self.attribute(*value["attr"])
            if set(value) == {"segment_of"}:
                return self._segment(self.resources[value["segment_of"]].view)
            if set(value) == {"backup_of"}:
                return self._backup(value["backup_of"])
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        return value


def _deleted(resource_type: ResourceType, view: ResourceContext) -> VerbResult:
    try:
        return resource_type.delete(view)
    except ResourceGone:
        return VerbResult(ObservedState.ABSENT)
