"""What resources saved in a stack's snapshot: how it is brought back, how deleted.

Called by the API (restore, and whether there is anything to delete) and by the
observer, which deletes.  Reads the snapshot's document (``convergence.document``).
"""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error, ResourceFailure, ResourceGone
from heat_convergence.convergence.lifecycle.snapshot_completion import (
    PHYSICAL_NAME_KEY,
    VERSION_KEY,
)
from heat_convergence.convergence.lifecycle.stack_export import is_stack_entry, resource_entries
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.resources.protocol.resource_context import resource_snapshot_name
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.environment.resource_registry import RESTORED_PROPERTIES
from heat_convergence.template.template import Template

LOG = logging.getLogger(__name__)
Json = Any
ResourcePath = tuple[str, ...]  # names of resources, from the stack down


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """What a resource of the stack, or of one below it, left in a snapshot; ``within``
    is the document of its own stack."""

    path: ResourcePath
    resource_type: ResourceType
    entry: Mapping[str, Json]
    stack_document: Mapping[str, Json]


SnapshotEntries = Sequence[SnapshotEntry]


def deletable_entries(saved: Snapshot, registry: ResourceTypeRegistry) -> SnapshotEntries:
    """The resources that left something to delete, at every depth."""
    found = []
    for path, entry, within in _walk(saved.data or {}, ()):
        kind = _type_of(entry, registry)
        saved_any = entry.get("resource_data") or entry.get(PHYSICAL_NAME_KEY)
        if saved_any and kind is not None and _deletes(kind):
            found.append(SnapshotEntry(path, kind, entry, within))
    return found


def _walk(
    data: Mapping[str, Json], above: ResourcePath
) -> Iterator[tuple[ResourcePath, Mapping[str, Json], Mapping[str, Json]]]:
    """Path and entry of every resource that no stack is behind, and what it is in."""
    for name, entry in resource_entries(data):
        if is_stack_entry(entry):
            yield from _walk(entry, (*above, name))
        else:
            yield (*above, name), entry, data


def drop_entries(data: Mapping[str, Json], paths: Collection[ResourcePath]) -> dict[str, Json]:
    """The document without what these resources saved, for it is gone."""
    resources = {}
    for name, entry in data["resources"].items():
        below = [path[1:] for path in paths if path[0] == name]
        if is_stack_entry(entry):
            resources[name] = drop_entries(entry, below) if below else entry
        else:
            resources[name] = _without(entry) if below else entry
    return {**data, "resources": resources}


def _without(entry: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: entry[key] for key in entry if key not in (PHYSICAL_NAME_KEY, VERSION_KEY)}
    return {**kept, "resource_data": {}}


def delete_entries(
    saved: Snapshot, entries: SnapshotEntries, now: datetime, cloud: Any = None
) -> tuple[list[ResourcePath], Error | None]:
    """The paths of those that are gone now, and what kept the first other."""
    gone: list[ResourcePath] = []
    cause: Error | None = None
    for each in entries:
        error = _delete(each.resource_type, _view(saved, each, now, cloud))
        if error is None:
            gone.append(each.path)
        elif cause is None:
            error.path = error.path or ".".join(f"resources.{name}" for name in each.path)
            cause = error
    return gone, cause


def restored_template(
    template: Template, saved: Snapshot, registry: ResourceTypeRegistry
) -> dict[str, Json] | None:
    """The template with the properties that bring back what was saved; None where it
    stays as it is."""
    return with_resource_properties(template, _properties(saved.data, registry))


def restored_nested_properties(saved: Snapshot, registry: ResourceTypeRegistry) -> dict[str, Json]:
    """The same of the stacks below, as the ``resources`` of a ``resource_registry`` tell
    it: name → name … → ``RESTORED_PROPERTIES`` → properties."""
    found = {}
    for name, entry in resource_entries(saved.data):
        if is_stack_entry(entry) and (below := _below(entry, registry)):
            found[name] = below
    return found


def _below(data: Mapping[str, Json], registry: ResourceTypeRegistry) -> dict[str, Json]:
    found: dict[str, Json] = {
        name: {RESTORED_PROPERTIES: properties}
        for name, properties in _properties(data, registry).items()
    }
    for name, entry in resource_entries(data):
        if is_stack_entry(entry) and (below := _below(entry, registry)):
            found[name] = below
    return found


def _properties(
    data: Mapping[str, Json] | None, registry: ResourceTypeRegistry
) -> dict[str, Mapping[str, Json]]:
    """Of the resources of one stack: what brings back those that were saved."""
    found = {}
    for name, entry in resource_entries(data):
        kind = None if is_stack_entry(entry) else _type_of(entry, registry)
        properties = (
            kind.restored_properties(entry.get("resource_data") or {}) if kind is not None else {}
        )
        if properties:
            found[name] = properties
    return found


def with_resource_properties(
    template: Template, properties: Mapping[str, Mapping[str, Json]]
) -> dict[str, Json] | None:
    """The template with these properties beside those that it says; None where none of
    its resources is meant."""
    names = sorted(properties.keys() & set(template.resource_names))
    if not names:
        return None
    words = template.version.dialect
    changed: dict[str, Json] = copy.deepcopy(template.raw)
    for name in names:
        definition = changed[words.resources][name]
        said = definition.get(words.properties) or {}
        definition[words.properties] = {**said, **properties[name]}
    return changed


def _delete(resource_type: ResourceType, view: ResourceContext) -> Error | None:
    try:
        resource_type.delete_snapshot(view)
    except ResourceGone:
        return None
    except Error as error:
        return error
    except Exception as error:
        # The edge towards third-party code, as in ``engine.performing``.
        LOG.exception("resource type raised: resource %(resource)s", {"resource": view.name})
        return ResourceFailure(f"{type(error).__name__}: {error}")
    return None


def _type_of(entry: Mapping[str, Json], registry: ResourceTypeRegistry) -> ResourceType | None:
    return registry.find(entry.get("implementation") or entry["type"])


def _deletes(resource_type: ResourceType) -> bool:
    return type(resource_type).delete_snapshot is not ResourceType.delete_snapshot


def _view(saved: Snapshot, each: SnapshotEntry, now: datetime, cloud: Any) -> ResourceContext:
    entry, within = each.entry, each.stack_document
    unseen = entry.get(PHYSICAL_NAME_KEY, "")
    return ResourceContext(
        stack_id=within["id"],
        stack_name=within["name"],
        project_id=saved.project_id,
        resource_id=saved.id,
        name=each.path[-1],
        type=entry["type"],
        physical_name=unseen,
        resource_snapshot_name=resource_snapshot_name(
            unseen, entry.get(VERSION_KEY, saved.version)
        )
        if unseen
        else "",
        physical_id=entry.get("resource_id"),
        properties={},
        attributes={},
        data=entry["resource_data"],
        action=Action.DELETE,
        started_at=now,
        now=now,
        random=random.Random(saved.id),
        cloud=cloud,
    )
