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
from heat_convergence.convergence.document import is_stack, resources_of
from heat_convergence.convergence.model import Action, SavedStack
from heat_convergence.convergence.saving import UNSEEN, VERSION
from heat_convergence.resources.plugin import ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import copy_name
from heat_convergence.template.registry import RESTORED
from heat_convergence.template.template import Template

LOG = logging.getLogger(__name__)
Json = Any
Path = tuple[str, ...]  # names of resources, from the stack down


@dataclass(frozen=True, slots=True)
class Saved:
    """What a resource of the stack, or of one below it, left in a snapshot; ``within``
    is the document of its own stack."""

    path: Path
    type: ResourceType
    entry: Mapping[str, Json]
    within: Mapping[str, Json]


Kept = Sequence[Saved]


def kept(saved: SavedStack, registry: Registry) -> Kept:
    """The resources that left something to delete, at every depth."""
    found = []
    for path, entry, within in _walk(saved.data or {}, ()):
        kind = _type_of(entry, registry)
        saved_any = entry.get("resource_data") or entry.get(UNSEEN)
        if saved_any and kind is not None and _deletes(kind):
            found.append(Saved(path, kind, entry, within))
    return found


def _walk(
    data: Mapping[str, Json], above: Path
) -> Iterator[tuple[Path, Mapping[str, Json], Mapping[str, Json]]]:
    """Path and entry of every resource that no stack is behind, and what it is in."""
    for name, entry in resources_of(data):
        if is_stack(entry):
            yield from _walk(entry, (*above, name))
        else:
            yield (*above, name), entry, data


def forget(data: Mapping[str, Json], paths: Collection[Path]) -> dict[str, Json]:
    """The document without what these resources saved, for it is gone."""
    resources = {}
    for name, entry in data["resources"].items():
        below = [path[1:] for path in paths if path[0] == name]
        if is_stack(entry):
            resources[name] = forget(entry, below) if below else entry
        else:
            resources[name] = _without(entry) if below else entry
    return {**data, "resources": resources}


def _without(entry: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: entry[key] for key in entry if key not in (UNSEEN, VERSION)}
    return {**kept, "resource_data": {}}


def delete(
    saved: SavedStack, kept: Kept, now: datetime, cloud: Any = None
) -> tuple[list[Path], Error | None]:
    """The paths of those that are gone now, and what kept the first other."""
    gone: list[Path] = []
    cause: Error | None = None
    for each in kept:
        error = _delete(each.type, _view(saved, each, now, cloud))
        if error is None:
            gone.append(each.path)
        elif cause is None:
            error.path = error.path or ".".join(f"resources.{name}" for name in each.path)
            cause = error
    return gone, cause


def restored(template: Template, saved: SavedStack, registry: Registry) -> dict[str, Json] | None:
    """The template with the properties that bring back what was saved; None where it
    stays as it is."""
    return with_properties(template, _properties(saved.data, registry))


def restored_below(saved: SavedStack, registry: Registry) -> dict[str, Json]:
    """The same of the stacks below, as the ``resources`` of a ``resource_registry`` tell
    it: name → name … → ``RESTORED`` → properties."""
    found = {}
    for name, entry in resources_of(saved.data):
        if is_stack(entry) and (below := _below(entry, registry)):
            found[name] = below
    return found


def _below(data: Mapping[str, Json], registry: Registry) -> dict[str, Json]:
    found: dict[str, Json] = {
        name: {RESTORED: properties} for name, properties in _properties(data, registry).items()
    }
    for name, entry in resources_of(data):
        if is_stack(entry) and (below := _below(entry, registry)):
            found[name] = below
    return found


def _properties(
    data: Mapping[str, Json] | None, registry: Registry
) -> dict[str, Mapping[str, Json]]:
    """Of the resources of one stack: what brings back those that were saved."""
    found = {}
    for name, entry in resources_of(data):
        kind = None if is_stack(entry) else _type_of(entry, registry)
        properties = kind.restored(entry.get("resource_data") or {}) if kind is not None else {}
        if properties:
            found[name] = properties
    return found


def with_properties(
    template: Template, given: Mapping[str, Mapping[str, Json]]
) -> dict[str, Json] | None:
    """The template with these properties beside those that it says; None where none of
    its resources is meant."""
    names = sorted(given.keys() & set(template.resource_names))
    if not names:
        return None
    words = template.version.dialect
    changed: dict[str, Json] = copy.deepcopy(template.raw)
    for name in names:
        definition = changed[words.resources][name]
        said = definition.get(words.properties) or {}
        definition[words.properties] = {**said, **given[name]}
    return changed


def _delete(kind: ResourceType, view: View) -> Error | None:
    try:
        kind.delete_snapshot(view)
    except ResourceGone:
        return None
    except Error as error:
        return error
    except Exception as error:
        # The edge towards third-party code, as in ``engine.performing``.
        LOG.exception("resource type raised: resource %(resource)s", {"resource": view.name})
        return ResourceFailure(f"{type(error).__name__}: {error}")
    return None


def _type_of(entry: Mapping[str, Json], registry: Registry) -> ResourceType | None:
    return registry.find(entry.get("implementation") or entry["type"])


def _deletes(kind: ResourceType) -> bool:
    return type(kind).delete_snapshot is not ResourceType.delete_snapshot


def _view(saved: SavedStack, each: Saved, now: datetime, cloud: Any) -> View:
    entry, within = each.entry, each.within
    unseen = entry.get(UNSEEN, "")
    return View(
        stack_id=within["id"],
        stack_name=within["name"],
        project_id=saved.project_id,
        resource_id=saved.id,
        name=each.path[-1],
        type=entry["type"],
        physical_name=unseen,
        copy_name=copy_name(unseen, entry.get(VERSION, saved.version)) if unseen else "",
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
