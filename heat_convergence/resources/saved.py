"""What resources saved in a stack's snapshot: how it is brought back, how deleted.

Called by the API (restore, and whether there is anything to delete) and by the
observer, which deletes.  Reads the snapshot's document (``convergence.document``).
"""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error, ResourceFailure, ResourceGone
from heat_convergence.convergence.document import resources_of
from heat_convergence.convergence.model import Action, SavedStack, Stack
from heat_convergence.convergence.saving import UNSEEN
from heat_convergence.resources.plugin import ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import copy_name
from heat_convergence.template.template import Template

LOG = logging.getLogger(__name__)
Json = Any
Kept = Sequence[tuple[str, ResourceType, Mapping[str, Json]]]


def kept(saved: SavedStack, registry: Registry) -> Kept:
    """Name, type and entry of the resources that left something to delete."""
    found = []
    for name, entry in resources_of(saved.data):
        kind = _type_of(entry, registry)
        saved_any = entry.get("resource_data") or entry.get(UNSEEN)
        if saved_any and kind is not None and _deletes(kind):
            found.append((name, kind, entry))
    return found


def forget(data: Mapping[str, Json], names: Sequence[str]) -> dict[str, Json]:
    """The document without what these resources saved, for it is gone."""
    resources = {
        name: _without(entry) if name in names else entry
        for name, entry in data["resources"].items()
    }
    return {**data, "resources": resources}


def _without(entry: Mapping[str, Json]) -> dict[str, Json]:
    return {**{key: entry[key] for key in entry if key != UNSEEN}, "resource_data": {}}


def delete(
    saved: SavedStack, stack: Stack, kept: Kept, now: datetime, cloud: Any = None
) -> tuple[list[str], Error | None]:
    """The names of those that are gone now, and what kept the first other."""
    gone: list[str] = []
    cause: Error | None = None
    for name, kind, entry in kept:
        error = _delete(kind, _view(saved, stack, name, entry, now, cloud))
        if error is None:
            gone.append(name)
        elif cause is None:
            error.path = error.path or f"resources.{name}"
            cause = error
    return gone, cause


def restored(template: Template, saved: SavedStack, registry: Registry) -> dict[str, Json] | None:
    """The template with the properties that bring back what was saved; None where it
    stays as it is."""
    words = template.version.dialect
    changed: dict[str, Json] | None = None
    for name, entry in resources_of(saved.data):
        kind = _type_of(entry, registry)
        properties = kind.restored(entry.get("resource_data") or {}) if kind is not None else {}
        if properties and name in template.resource_names:
            changed = changed or copy.deepcopy(template.raw)
            definition = changed[words.resources][name]
            given = definition.get(words.properties) or {}
            definition[words.properties] = {**given, **properties}
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


def _view(
    saved: SavedStack,
    stack: Stack,
    name: str,
    entry: Mapping[str, Json],
    now: datetime,
    cloud: Any,
) -> View:
    return View(
        stack_id=saved.stack_id,
        stack_name=stack.name,
        project_id=saved.project_id,
        resource_id=saved.id,
        name=name,
        type=entry["type"],
        physical_name=entry.get(UNSEEN, ""),
        copy_name=copy_name(entry[UNSEEN], saved.version) if UNSEEN in entry else "",
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
