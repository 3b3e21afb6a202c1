"""A driver of resource types on a cloud, without engine or database.

A case consists of some resources in order, the last of which is tested.  In properties,
``{"get": name}`` stands for another resource's reference id, ``{"attr": [name, attribute]}`` for
an attribute, ``{"segment_of": name}`` for the only segment of a network, and
``{"backup_of": name}`` for a backup of a volume, which is deleted with the volume.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from heat_convergence.clients.rest_client import CloudRequest
from heat_convergence.common.errors import Error, Retry
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.schema import changed_property_names, resolve_properties
from heat_convergence.resources.protocol.verb_values import (
    NeedsReplacement,
    ResourceContext,
    VerbResult,
)
from heat_convergence.resources.registry import ResourceTypeRegistry

MAX_PAUSE_S = 2.0
MAX_ATTEMPTS = 120  # of an observation, or of a call that may be retried


class ResponseDelivery(Enum):
    """The fate of the response to a create call."""

    RECEIVED = "received"
    LOST = "lost"


@dataclass
class DrivenResource:
    """A resource with the context that its database row would give, and its last result."""

    type: DeclarativeType
    context: ResourceContext
    result: VerbResult | None = None


@dataclass
class ResourceTypeDriver:
    """Creates, updates and deletes resources as engines and observers do.

    Attributes:
        advance_time: Lets seconds pass between observations, in reality or in the emulation.
        resources: Existing resources by name.
    """

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
        """Create a resource and wait until it is ready.

        With ``LOST``, find it again, as after a crash between the response and its record.
        """
        resource_type = self.registry.get(type_name)
        assert isinstance(resource_type, DeclarativeType), type_name
        resolved = resolve_properties(resource_type.schema, self.resolve_references(properties))
        resource_type.validate(resolved, None)
        resource_id = str(uuid.uuid4())
        now = self.now()
        context = ResourceContext(
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
            cloud=self.cloud,
            resource_snapshot_name=f"hc-{name}-{resource_id[:8]}-1",
        )
        driven = self.resources[name] = DrivenResource(resource_type, context)
        result = self._retry(lambda: resource_type.create(self._current_context(driven)))
        if delivery is ResponseDelivery.LOST:
            created_id = result.physical_id
            found = self._retry(lambda: resource_type.find(self._current_context(driven)))
            assert found == created_id, f"made {created_id}, found {found}"
            found_context = replace(self._current_context(driven), physical_id=found)
            result = replace(
                self._retry(lambda: resource_type.resume_create(found_context)), physical_id=found
            )
        self._record(driven, result)
        return self.wait_until_ready(driven)

    def update(self, name: str, properties: Mapping[str, Any]) -> DrivenResource:
        """Update a resource in place and wait until it is ready.

        Raises:
            NeedsReplacement: The type demands a replacement.
        """
        driven = self.resources[name]
        resource_type, before = driven.type, driven.context.properties
        after = resolve_properties(resource_type.schema, self.resolve_references(properties))
        names = changed_property_names(before, after)
        assert all(resource_type.schema.update_allowed(each) for each in names), names
        if resource_type.needs_replace(before, after, names):
            raise NeedsReplacement
        driven.context = replace(driven.context, action=Action.UPDATE, started_at=self.now())
        result = self._retry(
            lambda: resource_type.update(self._current_context(driven), after, names)
        )
        driven.context = replace(driven.context, properties=after)
        self._record(driven, result)
        return self.wait_until_ready(driven)

    def wait_until_ready(self, driven: DrivenResource) -> DrivenResource:
        """Observe the resource until it is ready or has failed."""
        for _ in range(MAX_ATTEMPTS):
            result = driven.result
            assert result is not None
            if result.observed is ObservedState.FAILED:
                raise AssertionError(f"{driven.context.name} failed: {result.reason}")
            if result.observed is ObservedState.READY:
                return driven
            if result.observed is ObservedState.ABSENT:
                raise AssertionError(f"{driven.context.name} is absent: {result.reason}")
            self.advance_time(_pause_s(result))
            self._record(
                driven, self._retry(lambda: driven.type.observe(self._current_context(driven)))
            )
        raise AssertionError(f"{driven.context.name} is still busy")

    def delete(self, name: str) -> None:
        """Delete a resource and its backup, and wait until it is absent."""
        driven = self.resources[name]
        if "backup_id" in driven.context.data:
            self._retry(lambda: driven.type.delete_snapshot(driven.context))
        driven.context = replace(driven.context, action=Action.DELETE, started_at=self.now())
        result = self._retry(lambda: _delete_if_exists(driven.type, self._current_context(driven)))
        for _ in range(MAX_ATTEMPTS):
            if result.observed is ObservedState.ABSENT:
                del self.resources[name]
                return
            assert result.observed is not ObservedState.FAILED, result.reason
            if result.data is not None or result.attributes is not None:
                self._record(driven, result)
            self.advance_time(_pause_s(result))
            result = self._retry(lambda: driven.type.observe(self._current_context(driven)))
        raise AssertionError(f"{name} is not deleted: {result}")

    def delete_all(self) -> None:
        """Delete all resources, the latest first."""
        for name in reversed(list(self.resources)):
            self.delete(name)

    def find(self, name: str) -> str | None:
        """Find the resource, as after a crash between the response and its record."""
        driven = self.resources[name]
        context = replace(
            driven.context,
            physical_id=None,
            attributes={},
            data={},
            action=Action.CREATE,
            cloud=self.cloud,
            now=self.now(),
        )
        return driven.type.find(context)

    def run_action(self, name: str, action: Action) -> DrivenResource | None:
        """Run a verb such as CHECK and wait until the resource is ready."""
        driven = self.resources[name]
        driven.context = replace(driven.context, action=action, started_at=self.now())
        verb = getattr(driven.type, action.lower())
        result = self._retry(lambda: verb(self._current_context(driven)))
        if result is None:
            return None
        self._record(driven, result)
        return self.wait_until_ready(driven)

    def attribute(self, name: str, attribute: str) -> Any:
        """Return the value of an attribute."""
        driven = self.resources[name]
        return driven.type.attribute(driven.context, attribute)

    def _current_context(self, driven: DrivenResource) -> ResourceContext:
        driven.context = replace(driven.context, now=self.now())
        return driven.context

    def _record(self, driven: DrivenResource, result: VerbResult) -> None:
        driven.result = result
        context = driven.context
        driven.context = replace(
            context,
            physical_id=result.physical_id or context.physical_id,
            attributes=context.attributes if result.attributes is None else result.attributes,
            data=context.data if result.data is None else result.data,
        )

    def _segment_id(self, network: ResourceContext) -> str:
        request = CloudRequest(
            "network", "GET", "/segments", query={"network_id": network.physical_id}
        )
        (segment,) = self.cloud.send(request).body["segments"]
        return str(segment["id"])

    def _backup_id(self, name: str) -> str:
        driven = self.resources[name]
        if "backup_id" not in driven.context.data:
            self.run_action(name, Action.SNAPSHOT)
        return str(driven.context.data["backup_id"])

    def _retry(self, call: Callable[[], Any]) -> Any:
        for attempt in range(MAX_ATTEMPTS):
            try:
                return call()
            except Error as error:
                if error.retry is Retry.NEVER or attempt > MAX_ATTEMPTS // 2:
                    raise
                self.advance_time(getattr(error, "retry_after_s", None) or 0.5)
        raise AssertionError("unreachable")

    def resolve_references(self, value: Any) -> Any:
        """Return the value with all references replaced, at any depth."""
        if isinstance(value, Mapping):
            if set(value) == {"get"}:
                driven = self.resources[value["get"]]
                return driven.type.reference_id(driven.context)
            if set(value) == {"attr"}:
                return self.attribute(*value["attr"])
            if set(value) == {"segment_of"}:
                return self._segment_id(self.resources[value["segment_of"]].context)
            if set(value) == {"backup_of"}:
                return self._backup_id(value["backup_of"])
            return {key: self.resolve_references(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve_references(item) for item in value]
        return value


def _delete_if_exists(resource_type: DeclarativeType, context: ResourceContext) -> VerbResult:
    try:
        return resource_type.delete(context)
    except ResourceGone:
        return VerbResult(ObservedState.ABSENT)


def _pause_s(result: VerbResult) -> float:
    if result.poll_after_s is None:
        return MAX_PAUSE_S
    return min(max(result.poll_after_s, result.poll_grid_s or 0.0), MAX_PAUSE_S)
