"""Lookup of the ids of objects that users name.

Decides which object a name refers to. Used by the driver before it calls a service and by
constraints. Results are cached for a short time, per cloud and project, and threads that look the
same up at the same time share one request; after a few misses of one entity the whole list is read
at once instead of name by name, and always where a service cannot filter by name.
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
from heat_convergence.common.single_flight import SingleFlight
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


ListedIds = Mapping[str, list[str]]  # name → ids of the objects that have it


class IdCache:
    """Ids found recently; thread-safe, bounded, one a process.

    Attributes:
        lookups: Lookups of one name that are on their way.
        lists: Reads of all names of an entity that are on their way.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.lookups: SingleFlight[str] = SingleFlight()
        self.lists: SingleFlight[ListedIds] = SingleFlight()
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
        self._reads: SingleFlight[Json] = SingleFlight()

    def get(self, calls: RestResourceClient, path_id: str, now: datetime) -> Json:
        """Return a body, cached or read.

        Raises:
            ResourceGone: There is no such object.
        """
        key = _body_key(calls, path_id)

        def read() -> Json:
            body = calls.get(path_id)
            self._put(key, body, now)
            return body

        return self._reads.run(key, lambda: self._find(key, now), read)

    def get_many(
        self, calls: RestResourceClient, path_ids: Collection[str], now: datetime
    ) -> dict[str, Json]:
        """Return id → body of the objects that exist; those not cached are read by one list."""
        keys = {path_id: _body_key(calls, path_id) for path_id in path_ids}

        def find_all() -> dict[str, Json] | None:
            found = {path_id: self._find(key, now) for path_id, key in keys.items()}
            return None if None in found.values() else found

        def read_missing() -> dict[str, Json]:
            found = {path_id: self._find(key, now) for path_id, key in keys.items()}
            missing = [path_id for path_id, body in found.items() if body is None]
            for path_id, body in calls.list_by_ids(missing).items():
                self._put(_body_key(calls, path_id), body, now)
                found[path_id] = body
            return {path_id: body for path_id, body in found.items() if body is not None}

        return dict(self._reads.run(tuple(sorted(keys.values())), find_all, read_missing))

    def _find(self, key: tuple[str, str, str], now: datetime) -> Json:
        with self._lock:
            at, body = self._bodies.get(key, (None, None))
        return body if at is not None and now - at < CACHE_TTL else None

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
        where = (self._cloud.cache_key, entity, value)
        return self._cache.lookups.run(
            where,
            lambda: self._cache.get(*where, self._now),
            lambda: self._look_up(entity, value, query),
        )

    def _look_up(self, entity: str, value: str, query: Mapping[str, Json]) -> str:
        rest_resource = self._rest_resources[entity]
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
        matching = self._find_ids(calls, value, query)
        if len(matching) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"Multiple physical resources were found with name ({value})."
            )
        if matching:
            return matching[0]
        return None if is_uuid(value) else self._by_id(calls, value)

    def _find_ids(
        self, calls: RestResourceClient, value: str, query: Mapping[str, Json]
    ) -> list[str]:
        """Return the ids of the objects with a name, or the id itself of one without it."""
        rest_resource = calls.rest_resource
        where = (self._cloud.cache_key, rest_resource.entity)
        if not query and rest_resource.name_key is not None:
            if rest_resource.name_query is None:
                return self._listed_ids(calls).get(value, [])
            if self._cache.count_miss(*where) > MAX_SINGLE_LOOKUPS:
                self._cache.reset_misses(*where)
                listed = self._listed_ids(calls).get(value)
                if listed:
                    return listed
        bodies = calls.find_by_name(value, **query)
        return [str(body[rest_resource.id_key]) for body in bodies]

    def _listed_ids(self, calls: RestResourceClient) -> ListedIds:
        """Return the ids of all objects by name, read by one list that threads share."""
        where = (self._cloud.cache_key, calls.rest_resource.entity)
        return self._cache.lists.run(where, lambda: None, lambda: self._read_list(calls))

    def _read_list(self, calls: RestResourceClient) -> ListedIds:
        """Read all names and ids in one list, and cache those that are unique."""
        rest_resource = calls.rest_resource
        where = (self._cloud.cache_key, rest_resource.entity)
        by_name: dict[str, list[str]] = {}
        by_id: dict[str, list[str]] = {}
        for body in calls.list():
            own_id = str(body[rest_resource.id_key])
            by_id[own_id] = [own_id]
            if rest_resource.name_key is not None and body.get(rest_resource.name_key):
                by_name.setdefault(str(body[rest_resource.name_key]), []).append(own_id)
        found = {**by_id, **by_name}
        for name, ids in found.items():
            if len(ids) == 1:
                self._cache.put(*where, name, ids[0], self._now)
        return found

    @staticmethod
    def _by_id(calls: RestResourceClient, value: str) -> str | None:
        try:
            return str(calls.get(value).get(calls.rest_resource.id_key) or value)
        except (ResourceGone, ResourceFailure):
            return None
