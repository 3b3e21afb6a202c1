"""Lookup of the ids of objects that users name.

Decides which object a name refers to. Used by the driver before it calls a service and by
constraints. Results are cached for a short time, per cloud and project; after a few misses of one
entity the whole list is read at once instead of name by name.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource

Json = Any

CACHE_TTL = timedelta(seconds=15)
MAX_CACHED = 20_000
MAX_SINGLE_LOOKUPS = 3  # names of one entity that are requested singly before the list is read

# Entities of Keystone that may be named as ``name{domain}``.
DOMAIN_ENTITY = "keystone.domain"
ENTITIES_OF_DOMAINS = frozenset(
    {"keystone.user", "keystone.group", "keystone.project", "keystone.role"}
)
_IN_DOMAIN = re.compile(r"(?P<name>.*)\{(?P<domain>[^{}]+)\}", re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def is_uuid(value: str) -> bool:
    """Return whether a text has the form of a UUID."""
    return _UUID.fullmatch(value) is not None


class IdCache:
    """Ids found recently; thread-safe, bounded, one a process."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._ids: OrderedDict[tuple[str, str, str], tuple[datetime, str]] = OrderedDict()
        self._misses: OrderedDict[tuple[str, str], int] = OrderedDict()

    def get(self, cloud: str, entity: str, name: str, now: datetime) -> str | None:
        """Return the cached id of a name, or None."""
        with self._lock:
            at, found = self._ids.get((cloud, entity, name), (None, None))
        return found if at is not None and now - at < CACHE_TTL else None

    def put(self, cloud: str, entity: str, name: str, path_id: str, now: datetime) -> None:
        """Cache the id of a name, evicting the oldest entry of a full cache."""
        with self._lock:
            self._ids[(cloud, entity, name)] = (now, path_id)
            self._ids.move_to_end((cloud, entity, name))
            while len(self._ids) > MAX_CACHED:
                self._ids.popitem(last=False)

    def count_miss(self, cloud: str, entity: str) -> int:
        """Count a miss and return the number of misses since the last reset."""
        with self._lock:
            count = self._misses.pop((cloud, entity), 0) + 1
            self._misses[(cloud, entity)] = count
            while len(self._misses) > MAX_CACHED:
                self._misses.popitem(last=False)
            return count

    def reset_misses(self, cloud: str, entity: str) -> None:
        """Reset the count of misses."""
        with self._lock:
            self._misses.pop((cloud, entity), None)


class BodyCache:
    """Bodies of objects that others refer to; thread-safe, bounded, cached as long as ids."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._bodies: OrderedDict[tuple[str, str, str], tuple[datetime, Json]] = OrderedDict()

    def get(self, calls: RestResourceClient, path_id: str, now: datetime) -> Json:
        """Return a body, cached or read.

        Raises:
            ResourceGone: There is no such object.
        """
        key = _body_key(calls, path_id)
        with self._lock:
            at, body = self._bodies.get(key, (None, None))
        if at is not None and now - at < CACHE_TTL:
            return body
        body = calls.get(path_id)
        self._put(key, body, now)
        return body

    def get_many(
        self, calls: RestResourceClient, path_ids: Collection[str], now: datetime
    ) -> dict[str, Json]:
        """Return id → body of the objects that exist; those not cached are read by one list."""
        found: dict[str, Json] = {}
        with self._lock:
            for path_id in path_ids:
                at, body = self._bodies.get(_body_key(calls, path_id), (None, None))
                if at is not None and now - at < CACHE_TTL:
                    found[path_id] = body
        missing = [path_id for path_id in path_ids if path_id not in found]
        for path_id, body in calls.list_by_ids(missing).items():
            self._put(_body_key(calls, path_id), body, now)
            found[path_id] = body
        return found

    def _put(self, key: tuple[str, str, str], body: Json, now: datetime) -> None:
        with self._lock:
            self._bodies[key] = (now, body)
            while len(self._bodies) > MAX_CACHED:
                self._bodies.popitem(last=False)


def _body_key(calls: RestResourceClient, path_id: str) -> tuple[str, str, str]:
    return calls.cloud.cache_key, calls.rest_resource.entity, path_id


class IdLookup:
    """Lookup of names at one cloud at one time."""

    def __init__(
        self,
        cloud: CloudClient,
        rest_resources: Mapping[str, RestResource],
        cache: IdCache,
        now: datetime,
    ) -> None:
        """Bind the lookup to a cloud and a time.

        Args:
            cloud: The cloud to search.
            rest_resources: Entity → REST resource.
            cache: The process's cache of ids.
            now: The time that decides which cached ids are too old.
        """
        self._cloud = cloud
        self._rest_resources = rest_resources
        self._cache = cache
        self._now = now

    def resolve_id(self, entity: str, value: Json, **query: Json) -> str:
        """Return the id of the object whose name or id is ``value``.

        A UUID is taken for an id without a request.

        Raises:
            EntityNotFound: There is none.
            PhysicalResourceNameAmbiguity: Several have the name.
        """
        rest_resource, text = self._rest_resources[entity], str(value)
        if rest_resource.ids_are_uuids and is_uuid(text):
            return text
        return self.find_existing_id(entity, text, **query)

    def find_existing_id(self, entity: str, value: str, **query: Json) -> str:
        """Return an id as ``resolve_id`` does, but request the object of an id as well.

        Users, groups, projects and roles may be named as ``name{domain}``, with the domain's name
        or id.
        """
        rest_resource = self._rest_resources[entity]
        kept = self._cache.get(self._cloud.cache_key, entity, value, self._now)
        if kept is not None:
            return kept
        name, in_domain = self._with_domain(entity, value)
        path_id = self._request(rest_resource, name, {**query, **in_domain})
        if path_id is None:
            raise EntityNotFound(rest_resource.label, value)
        self._cache.put(self._cloud.cache_key, entity, value, path_id, self._now)
        return path_id

    def _with_domain(self, entity: str, value: str) -> tuple[str, dict[str, Json]]:
        """Return the name, and the filter by the domain in braces behind it."""
        found = _IN_DOMAIN.fullmatch(value) if entity in ENTITIES_OF_DOMAINS else None
        if found is None:
            return value, {}
        return found["name"], {"domain_id": self.resolve_id(DOMAIN_ENTITY, found["domain"])}

    def _request(
        self, rest_resource: RestResource, value: str, query: Mapping[str, Json]
    ) -> str | None:
        calls = RestResourceClient(self._cloud, rest_resource)
        by_id = self._by_id(calls, value) if is_uuid(value) else None
        if by_id is not None:
            return by_id
        if (
            not query
            and self._cache.count_miss(self._cloud.cache_key, rest_resource.entity)
            > MAX_SINGLE_LOOKUPS
        ):
            self._cache.reset_misses(self._cloud.cache_key, rest_resource.entity)
            matching = self._listed(calls, value)
        else:
            matching = calls.find_by_name(value, **query)
        if len(matching) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"Multiple physical resources were found with name ({value})."
            )
        if matching:
            return str(matching[0][rest_resource.id_key])
        return None if is_uuid(value) else self._by_id(calls, value)

    def _listed(self, calls: RestResourceClient, value: str) -> list[dict[str, Json]]:
        """Read all names in one request, and cache those that are unique."""
        rest_resource = calls.rest_resource
        by_name: dict[str, list[dict[str, Json]]] = {}
        for body in calls.list():
            if rest_resource.name_key is not None and body.get(rest_resource.name_key):
                by_name.setdefault(str(body[rest_resource.name_key]), []).append(body)
            own_id = str(body[rest_resource.id_key])
            self._cache.put(self._cloud.cache_key, rest_resource.entity, own_id, own_id, self._now)
        for name, bodies in by_name.items():
            if len(bodies) == 1:
                own_id = str(bodies[0][rest_resource.id_key])
                self._cache.put(
                    self._cloud.cache_key, rest_resource.entity, name, own_id, self._now
                )
        return by_name.get(value) or calls.find_by_name(value)

    @staticmethod
    def _by_id(calls: RestResourceClient, value: str) -> str | None:
        try:
            return str(calls.get(value).get(calls.rest_resource.id_key) or value)
        except (ResourceGone, ResourceFailure):
            return None
