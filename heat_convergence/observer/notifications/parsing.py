"""Which physical resources a notification is about.

Decides from the table of the catalog and from the payload alone; whatever has another shape is
malformed. It must not believe anything else that a payload says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from heat_convergence.convergence.drift.change_hints import ANY_PROJECT
from heat_convergence.resources.catalog.notification_types import (
    IGNORED_EVENTS,
    NOTIFICATION_TYPES,
    NotificationType,
)

Json = Any
MAX_ID_LENGTH = 255
MAX_IDS = 1000  # of one notification; of more, their types count
_EVERY = "*"
_REMEMBERED_EVENTS = 2048


class MalformedNotification(Exception):
    """A notification whose payload does not say what it is about."""


@dataclass(frozen=True, slots=True)
class ChangedResources:
    """The physical resources that a notification is about.

    Attributes:
        project_id: Their project; ``ANY_PROJECT`` if it is not known.
        physical_ids: Their ids.
        resource_types: The types that may have these ids.
        types_without_ids: Types of which any resource may have changed.
    """

    project_id: str
    physical_ids: Collection[str]
    resource_types: Sequence[str] = ()
    types_without_ids: Sequence[str] = ()


@lru_cache(maxsize=_REMEMBERED_EVENTS)
def find_notification_type(event_type: str) -> NotificationType | None:
    """Return what the table says about an event type; None if it tells of no change."""
    if any(fnmatchcase(event_type, pattern) for pattern in IGNORED_EVENTS):
        return None
    for found in NOTIFICATION_TYPES:
        if any(fnmatchcase(event_type, pattern) for pattern in found.events):
            return found
    return None


def parse_notification(
    notification_type: NotificationType, payload: Json, user_project_id: str
) -> ChangedResources:
    """Return the physical resources that a notification is about.

    Args:
        notification_type: What the table says about it.
        payload: The payload.
        user_project_id: The project of the user who has made the change; may be empty.

    Raises:
        MalformedNotification: The payload has neither an id nor anything else to look for.
    """
    found = sorted({each for path in notification_type.ids for each in _ids_at(payload, path)})
    projects = (each for path in notification_type.projects for each in _ids_at(payload, path))
    project_id = next(projects, user_project_id) or ANY_PROJECT
    without_ids = notification_type.types_without_ids
    if not found and not (without_ids and project_id):
        raise MalformedNotification("no id of a resource")
    if len(found) > MAX_IDS:
        return ChangedResources(
            project_id, (), (), (*notification_type.resource_types, *without_ids)
        )
    return ChangedResources(project_id, found, notification_type.resource_types, without_ids)


def _ids_at(payload: Json, path: str) -> Iterator[str]:
    """Yield the values at a path that can be ids."""
    for value in _values_at(payload, path.split("/")):
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and 0 < len(value) <= MAX_ID_LENGTH:
            yield value


def _values_at(value: Json, keys: Sequence[str]) -> Iterator[Json]:
    if not keys:
        yield value
    elif keys[0] == _EVERY:
        if isinstance(value, list):
            for each in value:
                yield from _values_at(each, keys[1:])
    elif isinstance(value, dict) and keys[0] in value:
        yield from _values_at(value[keys[0]], keys[1:])
