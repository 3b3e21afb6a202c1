"""Construction of the ``ResourceContext`` that a resource type's verb receives.

Called by engines, observers and the api; no other module builds a context. It must not do I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_type import ResourceType, ResourceTypeFinder
from heat_convergence.resources.protocol.verb_values import ResourceContext


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbInputs:
    """The values that a verb receives in addition to its resource's row.

    Attributes:
        properties: The properties to create with; None uses those recorded in the row.
        dependencies: The resources that this one refers to, by name, for types that observe them.
        cloud: The cloud of the stack's tree, or None.
        metadata: The metadata, for verbs that create or change it.
    """

    properties: Mapping[str, Any] | None = None
    dependencies: Mapping[str, InputResource] = field(default_factory=dict)
    cloud: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


_NO_INPUTS = VerbInputs()


def build_context(
    row: Resource, stack: Stack, action: Action, now: datetime, inputs: VerbInputs = _NO_INPUTS
) -> ResourceContext:
    """Return the context of a verb on a row.

    A verb that continues the row's action in progress keeps the time at which that started.
    """
    in_progress = row.state.action is action and row.state.status is Status.IN_PROGRESS
    started_at = row.state.started_at if in_progress else None
    return ResourceContext(
        stack_id=row.stack_id,
        stack_name=stack.name,
        project_id=stack.project_id,
        resource_id=row.id,
        name=row.name,
        type=row.identity.type,
        physical_name=row.identity.physical_name,
        physical_id=row.physical.id,
        properties=({} if row.physical.properties is None else row.physical.properties)
        if inputs.properties is None
        else inputs.properties,
        attributes=row.physical.attributes,
        data=row.physical.data,
        action=action,
        started_at=started_at or now,
        now=now,
        metadata=inputs.metadata,
        resource_snapshot_name=resource_snapshot_name(
            row.identity.physical_name,
            FINAL_SNAPSHOT if action is Action.DELETE else row.job.version,
        ),
        dependencies={
            name: dependency_context(inputs.dependencies[name], stack, now)
            for name in row.desired.referenced_names
            if name in inputs.dependencies
        },
        cloud=inputs.cloud,
    )


def with_name_limit(context: ResourceContext, limit: int) -> ResourceContext:
    """Shorten the physical name to the limit of the resource type.

    The first two characters and the end remain, because the end is unique to the resource.

    Args:
        context: The context of the resource.
        limit: The longest name that the type's service accepts, in characters.
    """
    name = context.physical_name
    if len(name) <= limit:
        return context
    return replace(context, physical_name=f"{name[:2]}-{name[3 - limit :]}")


FINAL_SNAPSHOT = "last"


def resource_snapshot_name(physical_name: str, version: int | str) -> str:
    """Return the name of a resource's snapshot, of at most 255 characters.

    Args:
        physical_name: The physical name of the resource.
        version: The stack version whose snapshot this is, or ``FINAL_SNAPSHOT`` for the snapshot
        that outlives a deleted resource.
    """
    tail = f"-{version}"
    return physical_name[len(tail) - 255 :] + tail


def dependency_context(found: InputResource, stack: Stack, now: datetime) -> ResourceContext:
    """Build the context of a resource that another resource refers to."""
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
    )


def _as_recorded(resource: InputResource, _name: str | None) -> InputResource:
    """Return the resource unchanged."""
    return resource


@dataclass(frozen=True, slots=True)
class RowInputs:
    """References and attributes read from rows, as ``template.evaluate.Inputs``.

    A resource without a row reads as null, as one that has not been created does.

    Attributes:
        refresh: Returns a resource as it is for the reader of the named attribute; None for all
            attributes.
    """

    rows: Mapping[str, InputResource]
    stack: Stack
    registry: ResourceTypeFinder
    now: datetime
    refresh: Callable[[InputResource, str | None], InputResource] = _as_recorded

    def reference_id(self, resource: str) -> Any:
        """Return the reference id (``get_resource``) of a resource, or None without a row."""
        found = self.rows.get(resource)
        return None if found is None else self._type(found).reference_id(self._context(found))

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> Any:
        """Return the whole attribute, or all attributes when ``name`` is None.

        The caller applies ``path``; types whose value depends on the path receive it as well.
        """
        found = self.rows.get(resource)
        if found is None:
            return None
        found = self.refresh(found, name)
        resource_type, context = self._type(found), self._context(found)
        if name is None:
            names = resource_type.attribute_names(context)
            return {each: resource_type.attribute(context, each) for each in names}
        return resource_type.attribute_at_path(context, name, path)

    def _type(self, found: InputResource) -> ResourceType:
        return self.registry.get(found.implementation)

    def _context(self, found: InputResource) -> ResourceContext:
        return dependency_context(found, self.stack, self.now)
