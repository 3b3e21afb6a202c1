"""Rows as resource types see them.

Called by engines, observers and the API; the only place that builds a ``View``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType

if TYPE_CHECKING:  # it knows types, which know this
    from heat_convergence.resources.registry import ResourceTypeRegistry


def build_context(
    row: Resource,
    stack: Stack,
    action: Action,
    now: datetime,
    properties: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputResource] | None = None,
    cloud: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> ResourceContext:
    """What a type's verb sees of a row; ``property_texts`` other than the recorded
    ones when it is about to be created with them, ``inputs`` what it draws on where
    its type looks at that; ``metadata`` for verbs that make or change it."""
    goes_on = row.action is action and row.status is Status.IN_PROGRESS
    started_at = row.action_started_at if goes_on else None
    return ResourceContext(
        stack_id=row.stack_id,
        stack_name=stack.name,
        project_id=stack.project_id,
        resource_id=row.id,
        name=row.name,
        type=row.type,
        physical_name=row.physical_name,
        physical_id=row.physical_id,
        properties=(row.properties or {}) if properties is None else properties,
        attributes=row.attributes,
        data=row.data,
        action=action,
        started_at=started_at or now,
        now=now,
        random=random.Random(f"{row.id} {action}"),
        metadata=metadata or {},
        resource_snapshot_name=resource_snapshot_name(
            row.physical_name, FINAL_SNAPSHOT if action is Action.DELETE else row.version
        ),
        dependencies={
            name: dependency_context(inputs[name], stack, now)
            for name in row.referenced_names
            if inputs and name in inputs
        },
        cloud=cloud,
    )


def with_name_limit(view: ResourceContext, limit: int) -> ResourceContext:
    """With a physical name of ``limit`` characters at most: its first two and its end,
    which is the resource's own."""
    name = view.physical_name
    if len(name) <= limit:
        return view
    return replace(view, physical_name=f"{name[:2]}-{name[3 - limit :]}")


FINAL_SNAPSHOT = "last"


def resource_snapshot_name(physical_name: str, of: int | str) -> str:
    """What a resource's copy is called: of the snapshot that a version of the stack is,
    or the one that outlives the resource.  At most 255 characters."""
    tail = f"-{of}"
    return physical_name[len(tail) - 255 :] + tail


def dependency_context(found: InputResource, stack: Stack, now: datetime) -> ResourceContext:
    """What a type sees of a resource that another one draws on."""
    return ResourceContext(
        stack_id=stack.id,
        stack_name=stack.name,
        project_id=stack.project_id,
        resource_id=found.id,
        name=found.name,
        type=found.type,
        physical_name=found.physical_name,
        physical_id=found.physical_id,
        properties=found.properties,
        attributes=found.attributes,
        data=found.data,
        action=found.action,
        started_at=now,
        now=now,
        random=random.Random(found.id),
    )


@dataclass(frozen=True, slots=True)
class RowInputs:
    """References and attributes out of rows: ``template.evaluate.Inputs``.

    A resource that has no row yet reads as null, as one that is not created does.
    """

    rows: Mapping[str, InputResource]
    stack: Stack
    registry: ResourceTypeRegistry
    now: datetime

    def reference_id(self, resource: str) -> Any:
        found = self.rows.get(resource)
        return None if found is None else self._type(found).reference_id(self._view(found))

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> Any:
        """The whole attribute: the caller applies ``path``; no name, all of them."""
        found = self.rows.get(resource)
        if found is None:
            return None
        kind, view = self._type(found), self._view(found)
        if name is None:
            return {each: kind.attribute(view, each) for each in kind.attribute_names(view)}
        return kind.attribute_at_path(view, name, path)

    def _type(self, found: InputResource) -> ResourceType:
        return self.registry.get(found.implementation)

    def _view(self, found: InputResource) -> ResourceContext:
        return dependency_context(found, self.stack, self.now)
