"""The data that resources saved in a stack's snapshot: how to restore and to delete it.

Called by the API (restore, and whether there is anything to delete) and by the observer,
which deletes.  Reads the snapshot's document (``lifecycle.stack_export``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common import time_limit
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import EntityNotFound, Error
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import (
    PHYSICAL_NAME_KEY,
    VERSION_KEY,
)
from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    is_stack_entry,
    resource_entries,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.resources.protocol.call_groups import CallGroups, call_groups
from heat_convergence.resources.protocol.resource_context import resource_snapshot_name
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.environment.registry_checks import RESTORED_PROPERTIES
from heat_convergence.template.template import Template

Json = Any
ResourcePath = tuple[str, ...]  # names of resources, from the stack down


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """The entry of one resource, of the stack or of a descendant, in a snapshot.

    Attributes:
        path: names of resources, from the stack down.
        stack_document: the document of the resource's own stack.
    """

    path: ResourcePath
    resource_type: ResourceType
    entry: Mapping[str, Json]
    stack_document: Mapping[str, Json]


SnapshotEntries = Sequence[SnapshotEntry]


def deletable_entries(snapshot: Snapshot, registry: ResourceTypeRegistry) -> SnapshotEntries:
    """Return the entries with something to delete, at every depth.

    Those whose resource type is missing are not among them (``find_missing_type``).
    """
    found = []
    for path, entry, document in _walk(snapshot.data or {}, ()):
        resource_type = _find_type(entry, registry)
        if _has_saved(entry) and resource_type is not None and _can_delete(resource_type):
            found.append(SnapshotEntry(path, resource_type, entry, document))
    return found


def find_missing_type(snapshot: Snapshot, registry: ResourceTypeRegistry) -> Error | None:
    """Return the error of the first entry that cannot be deleted without its resource type.

    What it has saved is known to the type alone; another worker may have the type.
    """
    for path, entry, _document in _walk(snapshot.data or {}, ()):
        if _has_saved(entry) and _find_type(entry, registry) is None:
            name = entry.get("implementation") or entry["type"]
            location = ".".join(f"resources.{each}" for each in path)
            error = EntityNotFound("Resource Type", str(name))
            error.path = location
            return error
    return None


def _has_saved(entry: Mapping[str, Json]) -> bool:
    return bool(entry.get("resource_data") or entry.get(PHYSICAL_NAME_KEY))


def _walk(
    data: Mapping[str, Json], parent_path: ResourcePath
) -> Iterator[tuple[ResourcePath, Mapping[str, Json], Mapping[str, Json]]]:
    """Yield path, entry and stack document of every resource without a nested stack."""
    for name, entry in resource_entries(data):
        if is_stack_entry(entry):
            yield from _walk(entry, (*parent_path, name))
        else:
            yield (*parent_path, name), entry, data


def drop_entries(data: Mapping[str, Json], paths: Collection[ResourcePath]) -> dict[str, Json]:
    """Return the document without what these resources saved, for it is deleted."""
    resources = {}
    for name, entry in data["resources"].items():
        nested = [path[1:] for path in paths if path[0] == name]
        if is_stack_entry(entry):
            resources[name] = drop_entries(entry, nested) if nested else entry
        else:
            resources[name] = _without(entry) if nested else entry
    return {**data, "resources": resources}


def _without(entry: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: entry[key] for key in entry if key not in (PHYSICAL_NAME_KEY, VERSION_KEY)}
    return {**kept, "resource_data": {}}


def group_entries(
    snapshot: Snapshot, entries: SnapshotEntries, now: datetime, cloud: Any
) -> dict[CallGroups, list[SnapshotEntry]]:
    """Return the entries by the groups that share the places for their calls."""
    groups_of_type: dict[str, CallGroups] = {}
    found: dict[CallGroups, list[SnapshotEntry]] = {}
    for each in entries:
        resource_type = each.resource_type
        if resource_type.name not in groups_of_type:
            context = _view(snapshot, each, now, cloud)
            groups_of_type[resource_type.name] = call_groups(resource_type, context)
        found.setdefault(groups_of_type[resource_type.name], []).append(each)
    return found


def delete_entries(
    snapshot: Snapshot, entries: SnapshotEntries, now: datetime, cloud: Any, errors: ErrorLog
) -> tuple[list[ResourcePath], Error | None]:
    """Delete what resources saved.

    Args:
        snapshot: the snapshot.
        entries: those to delete.
        now: the current time.
        cloud: for the resource types.
        errors: the log of unexpected errors.

    Returns:
        The paths of the deleted entries, and the error of the first other one.  When the time
        limit has ended the calls after a success, that is no error.
    """
    deleted: list[ResourcePath] = []
    cause: Error | None = None
    boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors)
    for each in entries:
        error = boundary.fail_resource(
            partial(_delete, snapshot, each, now, cloud),
            _failure,
            ErrorSubject(snapshot.stack_id, each.path[-1]),
        )
        if error is None:
            deleted.append(each.path)
        elif cause is None:
            error.path = error.path or ".".join(f"resources.{name}" for name in each.path)
            cause = error
        if deleted and time_limit.is_over():
            return deleted, None
    return deleted, cause


def restored_template(
    template: Template, snapshot: Snapshot, registry: ResourceTypeRegistry
) -> dict[str, Json] | None:
    """Return the template with the properties that restore a snapshot, None if unchanged."""
    return with_resource_properties(template, _properties(snapshot.data, registry))


def restored_nested_properties(
    snapshot: Snapshot, registry: ResourceTypeRegistry
) -> dict[str, Json]:
    """Return the properties that restore the descendants.

    They have the shape of a registry's ``resources``: name → name … →
    ``RESTORED_PROPERTIES`` → properties.
    """
    found = {}
    for name, entry in resource_entries(snapshot.data):
        if is_stack_entry(entry) and (nested := _nested_properties(entry, registry)):
            found[name] = nested
    return found


def _nested_properties(
    data: Mapping[str, Json], registry: ResourceTypeRegistry
) -> dict[str, Json]:
    found: dict[str, Json] = {
        name: {RESTORED_PROPERTIES: properties}
        for name, properties in _properties(data, registry).items()
    }
    for name, entry in resource_entries(data):
        if is_stack_entry(entry) and (nested := _nested_properties(entry, registry)):
            found[name] = nested
    return found


def _properties(
    data: Mapping[str, Json] | None, registry: ResourceTypeRegistry
) -> dict[str, Mapping[str, Json]]:
    """Return the properties that restore the resources of one stack, by name."""
    found = {}
    for name, entry in resource_entries(data):
        resource_type = None if is_stack_entry(entry) else _find_type(entry, registry)
        properties = (
            resource_type.restored_properties(entry.get("resource_data") or {})
            if resource_type is not None
            else {}
        )
        if properties:
            found[name] = properties
    return found


def with_resource_properties(
    template: Template, properties: Mapping[str, Mapping[str, Json]]
) -> dict[str, Json] | None:
    """Return the template with further properties, None if it has none of the resources.

    Args:
        template: the template.
        properties: by resource name, over those of the template.
    """
    names = sorted(properties.keys() & set(template.resource_names))
    if not names:
        return None
    words = template.version.dialect
    resources = dict(template.section(words.resources))
    for name in names:
        written = resources[name].get(words.properties) or {}
        resources[name] = {**resources[name], words.properties: {**written, **properties[name]}}
    return {**template.raw, words.resources: resources}


def _failure(failure: Error) -> Error | None:
    return failure


def _delete(snapshot: Snapshot, each: SnapshotEntry, now: datetime, cloud: Any) -> Error | None:
    try:
        each.resource_type.delete_snapshot(_view(snapshot, each, now, cloud))
    except ResourceGone:
        return None
    except Error as error:
        return error
    return None


def _find_type(entry: Mapping[str, Json], registry: ResourceTypeRegistry) -> ResourceType | None:
    return registry.find(entry.get("implementation") or entry["type"])


def _can_delete(resource_type: ResourceType) -> bool:
    return type(resource_type).delete_snapshot is not ResourceType.delete_snapshot


def _view(snapshot: Snapshot, each: SnapshotEntry, now: datetime, cloud: Any) -> ResourceContext:
    entry, document = each.entry, each.stack_document
    name = entry.get(PHYSICAL_NAME_KEY, "")
    return ResourceContext(
        stack_id=document["id"],
        stack_name=document["name"],
        project_id=snapshot.project_id,
        resource_id=snapshot.id,
        name=each.path[-1],
        type=entry["type"],
        physical_name=name,
        resource_snapshot_name=resource_snapshot_name(
            name, entry.get(VERSION_KEY, snapshot.version)
        )
        if name
        else "",
        physical_id=entry.get("resource_id"),
        properties={},
        attributes={},
        data=entry["resource_data"],
        action=Action.DELETE,
        started_at=now,
        now=now,
        cloud=cloud,
    )
