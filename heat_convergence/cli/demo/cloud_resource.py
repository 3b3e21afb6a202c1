"""The resource type of the demo: files of a folder stand for servers, networks and disks.

Loaded by the demo's service through an entry point that ``service_process`` writes. The files
outlive the service, and others can change them behind its back. The cloud of files keeps an
account of every creation, which the demo shows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.testing.file_cloud import FileCloud

Json = Any
LATENCY_S = 0.4
"""Seconds between a change in the cloud and the answer, in which the demo kills the engine."""


class DemoResource(ResourceType, Watchable):
    """A file with a value; it takes the properties of ``OS::Heat::TestResource`` in the demo."""

    name = "Demo::Resource"
    physical_name_limit = 240  # a file name has at most 255 characters
    schema = TypeSchema(
        description="A file that stands for a server, a network or a disk.",
        properties={
            "value": PropertySchema(
                type=PropertyType.STRING,
                description="The content.",
                default="",
                update_allowed=True,
            ),
            "wait_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds until it is ready.",
                default=0,
                update_allowed=True,
            ),
            "update_replace": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Require replacement when the value changes.",
                default=False,
                update_allowed=True,
            ),
        },
        attributes={"output": AttributeSchema(description="The content.")},
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the file; the answer comes later than the file."""
        cloud = FileCloud.from_environment()
        physical_id = cloud.create(context.physical_name, _content(context.properties))
        time.sleep(LATENCY_S)
        return _state(cloud, physical_id)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Replace the content."""
        cloud, physical_id = FileCloud.from_environment(), context.physical_id or ""
        cloud.update(physical_id, _content(after))
        time.sleep(LATENCY_S)
        return _state(cloud, physical_id)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether ``update_replace`` requires a replacement of this change."""
        return bool(after.get("update_replace")) and before.get("value") != after.get("value")

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the file."""
        if context.physical_id is not None:
            FileCloud.from_environment().delete(context.physical_id)
            time.sleep(LATENCY_S)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return the state of the file."""
        cloud, physical_id = FileCloud.from_environment(), context.physical_id or ""
        if context.action is Action.DELETE and cloud.read(physical_id) is None:
            return VerbResult(ObservedState.ABSENT)
        return _state(cloud, physical_id)

    def find(self, context: ResourceContext) -> str | None:
        """Return the file that an earlier, lost creation has made."""
        return FileCloud.from_environment().find(context.physical_name)

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read the files of all resources."""
        return {context.resource_id: _read(context) for context in contexts}

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the content that was observed."""
        return {"value": (result.attributes or {}).get("output")}

    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Return whether others have changed the content."""
        applied = context.properties.get("value")
        if values["value"] == applied:
            return ()
        return (PropertyDrift("value", applied, values["value"]),)

    def drifted_properties(self, context: ResourceContext, result: VerbResult) -> frozenset[str]:
        """Return ``value`` if others have changed it."""
        differing = self.compare(context, self.comparable_values(context, result))
        return frozenset(each.name for each in differing)


def _content(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "value": properties.get("value"),
        "ready_at": time.time() + properties.get("wait_secs", 0),
    }


def _read(context: ResourceContext) -> VerbResult:
    try:
        return _state(FileCloud.from_environment(), context.physical_id or "")
    except ResourceGone:
        return VerbResult(ObservedState.ABSENT)


def _state(cloud: FileCloud, physical_id: str) -> VerbResult:
    content = cloud.read(physical_id)
    if content is None:
        raise ResourceGone(f"there is no file {physical_id}")
    attributes = {"output": content["value"]}
    left_s = content["ready_at"] - time.time()
    if left_s > 0:
        return VerbResult(ObservedState.BUSY, physical_id, attributes, poll_after_s=left_s)
    return VerbResult(ObservedState.READY, physical_id, attributes)
