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

from heat_convergence.clients.rest import Cloud
from heat_convergence.common.errors import (
    EntityNotFound,
    PhysicalResourceNameAmbiguity,
    ResourceFailure,
    ResourceGone,
)
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.things import Thing

Json = Any

KEPT_FOR = timedelta(seconds=15)
MOST_KEPT = 20_000
ONE_BY_ONE = 3  # names of one kind asked for singly before the list is read

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


class Found:
    """Ids found lately; thread-safe, bounded, one a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: OrderedDict[tuple[str, str, str], tuple[datetime, str]] = OrderedDict()
        self._misses: dict[tuple[str, str], int] = {}

    def get(self, cloud: str, noun: str, name: str, now: datetime) -> str | None:
        with self._lock:
            at, found = self._ids.get((cloud, noun, name), (None, None))
        return found if at is not None and now - at < KEPT_FOR else None

    def keep(self, cloud: str, noun: str, name: str, thing_id: str, now: datetime) -> None:
        with self._lock:
            self._ids[(cloud, noun, name)] = (now, thing_id)
            self._ids.move_to_end((cloud, noun, name))
            while len(self._ids) > MOST_KEPT:
                self._ids.popitem(last=False)

    def missed(self, cloud: str, noun: str) -> int:
        """Counts a miss; how many there were."""
        with self._lock:
            count = self._misses[(cloud, noun)] = self._misses.get((cloud, noun), 0) + 1
            return count

    def read_all(self, cloud: str, noun: str) -> None:
        with self._lock:
            self._misses[(cloud, noun)] = 0


class Bodies:
    """What things look like that others tell of; kept as briefly as names, bounded,
    thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], tuple[datetime, Json]] = OrderedDict()

    def of(self, calls: Calls, thing_id: str, now: datetime) -> Json:
        """Raises as ``Calls.get``."""
        key = (calls.cloud.key, calls.thing.noun, thing_id)
        with self._lock:
            at, body = self._kept.get(key, (None, None))
        if at is not None and now - at < KEPT_FOR:
            return body
        body = calls.get(thing_id)
        with self._lock:
            self._kept[key] = (now, body)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return body


class Lookups:
    """Names at one cloud at one time."""

    def __init__(
        self, cloud: Cloud, things: Mapping[str, Thing], found: Found, now: datetime
    ) -> None:
        self._cloud = cloud
        self._things = things
        self._found = found
        self._now = now

    def id_of(self, noun: str, value: Json, **query: Json) -> str:
        """The id of the thing that is called or has the id ``value``.

        A UUID is taken for an id without asking.  Raises ``EntityNotFound`` and
        ``PhysicalResourceNameAmbiguity``.
        """
        thing, text = self._things[noun], str(value)
        if thing.uuids and is_uuid(text):
            return text
        return self.existing(noun, text, **query)

    def existing(self, noun: str, value: str, **query: Json) -> str:
        """As ``id_of``, but what has the id is looked for, too."""
        thing = self._things[noun]
        kept = self._found.get(self._cloud.key, noun, value, self._now)
        if kept is not None:
            return kept
        thing_id = self._asked(thing, value, query)
        if thing_id is None:
            raise EntityNotFound(thing.noun_text, value)
        self._found.keep(self._cloud.key, noun, value, thing_id, self._now)
        return thing_id

    def _asked(self, thing: Thing, value: str, query: Mapping[str, Json]) -> str | None:
        calls = Calls(self._cloud, thing)
        by_id = self._by_id(calls, value) if is_uuid(value) else None
        if by_id is not None:
            return by_id
        if not query and self._found.missed(self._cloud.key, thing.noun) > ONE_BY_ONE:
            self._found.read_all(self._cloud.key, thing.noun)
            matching = self._listed(calls, value)
        else:
            matching = calls.named(value, **query)
        if len(matching) > 1:
            raise PhysicalResourceNameAmbiguity(
                f"Multiple physical resources were found with name ({value})."
            )
        if matching:
            return str(matching[0][thing.id_key])
        return None if is_uuid(value) else self._by_id(calls, value)

    def _listed(self, calls: Calls, value: str) -> list[dict[str, Json]]:
        """Reads all names, which is one request; keeps those that are unique."""
        thing = calls.thing
        by_name: dict[str, list[dict[str, Json]]] = {}
        for body in calls.list():
            if thing.name_key is not None and body.get(thing.name_key):
                by_name.setdefault(str(body[thing.name_key]), []).append(body)
            own_id = str(body[thing.id_key])
            self._found.keep(self._cloud.key, thing.noun, own_id, own_id, self._now)
        for name, bodies in by_name.items():
            if len(bodies) == 1:
                own_id = str(bodies[0][thing.id_key])
                self._found.keep(self._cloud.key, thing.noun, name, own_id, self._now)
        return by_name.get(value) or calls.named(value)

    @staticmethod
    def _by_id(calls: Calls, value: str) -> str | None:
        try:
            return str(calls.get(value).get(calls.thing.id_key) or value)
        except (ResourceGone, ResourceFailure):
            return None
