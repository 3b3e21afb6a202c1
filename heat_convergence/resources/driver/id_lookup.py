"""From names to ids: what users call things by, as services want it.

Decides which thing a name means.  Used by the driver before it calls a service and by
constraints.  What was found is kept for a while, per cloud and project; after a few
misses of one kind the whole list is read at once instead of name by name.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.errors import (
    EntityNotFound,
    PhysicalResourceNameAmbiguity,
    ResourceFailure,
    ResourceGone,
)
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource

Json = Any

CACHE_TTL = timedelta(seconds=15)
MAX_CACHED = 20_000
MAX_SINGLE_LOOKUPS = 3  # names of one kind asked for singly before the list is read

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


class IdCache:
    """Ids found lately; thread-safe, bounded, one a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: OrderedDict[tuple[str, str, str], tuple[datetime, str]] = OrderedDict()
        self._misses: dict[tuple[str, str], int] = {}

    def get(self, cloud: str, noun: str, name: str, now: datetime) -> str | None:
        with self._lock:
            at, found = self._ids.get((cloud, noun, name), (None, None))
        return found if at is not None and now - at < CACHE_TTL else None

    def put(self, cloud: str, noun: str, name: str, thing_id: str, now: datetime) -> None:
        with self._lock:
            self._ids[(cloud, noun, name)] = (now, thing_id)
            self._ids.move_to_end((cloud, noun, name))
            while len(self._ids) > MAX_CACHED:
                self._ids.popitem(last=False)

    def count_miss(self, cloud: str, noun: str) -> int:
        """Counts a miss; how many there were."""
        with self._lock:
            count = self._misses[(cloud, noun)] = self._misses.get((cloud, noun), 0) + 1
            return count

    def reset_misses(self, cloud: str, noun: str) -> None:
        with self._lock:
            self._misses[(cloud, noun)] = 0


class BodyCache:
    """What things look like that others tell of; kept as briefly as names, bounded,
    thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], tuple[datetime, Json]] = OrderedDict()

    def get(self, calls: RestResourceClient, thing_id: str, now: datetime) -> Json:
        """Raises as ``RestResourceClient.get``."""
        key = (calls.cloud.cache_key, calls.rest_resource.entity, thing_id)
        with self._lock:
            at, body = self._kept.get(key, (None, None))
        if at is not None and now - at < CACHE_TTL:
            return body
        body = calls.get(thing_id)
        with self._lock:
            self._kept[key] = (now, body)
            while len(self._kept) > MAX_CACHED:
                self._kept.popitem(last=False)
        return body


class IdLookup:
    """Names at one cloud at one time."""

    def __init__(
        self, cloud: CloudClient, things: Mapping[str, RestResource], found: IdCache, now: datetime
    ) -> None:
        self._cloud = cloud
        self._things = things
        self._found = found
        self._now = now

    def resolve_id(self, noun: str, value: Json, **query: Json) -> str:
        """The id of the thing that is called or has the id ``value``.

        A UUID is taken for an id without asking.  Raises ``EntityNotFound`` and
        ``PhysicalResourceNameAmbiguity``.
        """
        thing, text = self._things[noun], str(value)
        if thing.ids_are_uuids and is_uuid(text):
            return text
        return self.find_existing_id(noun, text, **query)

    def find_existing_id(self, noun: str, value: str, **query: Json) -> str:
        """As ``resolve_id``, but what has the id is looked for, too."""
        thing = self._things[noun]
        kept = self._found.get(self._cloud.cache_key, noun, value, self._now)
        if kept is not None:
            return kept
        thing_id = self._asked(thing, value, query)
        if thing_id is None:
            raise EntityNotFound(thing.label, value)
        self._found.put(self._cloud.cache_key, noun, value, thing_id, self._now)
        return thing_id

    def _asked(self, thing: RestResource, value: str, query: Mapping[str, Json]) -> str | None:
        calls = RestResourceClient(self._cloud, thing)
        by_id = self._by_id(calls, value) if is_uuid(value) else None
        if by_id is not None:
            return by_id
        if (
            not query
            and self._found.count_miss(self._cloud.cache_key, thing.entity) > MAX_SINGLE_LOOKUPS
        ):
            self._found.reset_misses(self._cloud.cache_key, thing.entity)
            matching = self._listed(calls, value)
        else:
            matching = calls.find_by_name(value, **query)
        if len(matching) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"Multiple physical resources were found with name ({value})."
            )
        if matching:
            return str(matching[0][thing.id_key])
        return None if is_uuid(value) else self._by_id(calls, value)

    def _listed(self, calls: RestResourceClient, value: str) -> list[dict[str, Json]]:
        """Reads all names, which is one request; keeps those that are unique."""
        thing = calls.rest_resource
        by_name: dict[str, list[dict[str, Json]]] = {}
        for body in calls.list():
            if thing.name_key is not None and body.get(thing.name_key):
                by_name.setdefault(str(body[thing.name_key]), []).append(body)
            own_id = str(body[thing.id_key])
            self._found.put(self._cloud.cache_key, thing.entity, own_id, own_id, self._now)
        for name, bodies in by_name.items():
            if len(bodies) == 1:
                own_id = str(bodies[0][thing.id_key])
                self._found.put(self._cloud.cache_key, thing.entity, name, own_id, self._now)
        return by_name.get(value) or calls.find_by_name(value)

    @staticmethod
    def _by_id(calls: RestResourceClient, value: str) -> str | None:
        try:
            return str(calls.get(value).get(calls.rest_resource.id_key) or value)
        except (ResourceGone, ResourceFailure):
            return None
