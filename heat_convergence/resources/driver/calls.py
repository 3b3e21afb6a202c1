"""Calls about one kind of thing at one cloud.

Decides paths, bodies and pages.  Used by the driver, by types with behaviour and by
lookups; bodies are the service's own JSON, without their outer key.  Must not retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from heat_convergence.clients.rest import Answer, Cloud, Request
from heat_convergence.common.errors import ResourceFailure, ResourceGone
from heat_convergence.resources.driver.things import Thing

Json = Any
MOST_PAGES = 10_000
IDS_A_QUERY = 50  # keeps a URL below the 4 KiB that proxies take


class Calls:
    """``places`` fill the names in the thing's path."""

    def __init__(self, cloud: Cloud, thing: Thing, places: Mapping[str, str] | None = None):
        self.cloud = cloud
        self.thing = thing
        self._places = dict(places or {})

    # -- one

    def get(self, thing_id: str) -> dict[str, Json]:
        """Raises ``ResourceGone``."""
        return self._one(self.send("GET", self.path(thing_id)))

    def create(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        body = dict(arguments)
        return self._one(self.send("POST", self.path(), self._wrapped(body)))

    def update(self, thing_id: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        method = self.thing.update_method
        return self._one(self.send(method, self.path(thing_id), self._wrapped(dict(arguments))))

    def delete(self, thing_id: str) -> bool:
        """False when there is nothing to delete."""
        try:
            self.send("DELETE", self.path(thing_id))
        except ResourceGone:
            return False
        return True

    def action(self, thing_id: str, name: str, arguments: Json = None) -> Json:
        """The ``action`` calls of Nova and Cinder."""
        return self.send("POST", self.path(thing_id, "action"), {name: arguments}).body

    # -- many

    def list(self, **query: Json) -> Iterator[dict[str, Json]]:
        """All that fit, page by page."""
        asked = dict(self.thing.always_asked)
        asked.update((name, value) for name, value in query.items() if value is not None)
        path = self._filled(self.thing.list_base)
        last = None
        for _ in range(MOST_PAGES):
            body = self.send("GET", path, query=asked).body
            items = [self._bare(item) for item in _items(body, self.thing.several)]
            yield from items
            marker = items[-1].get(self.thing.id_key) if items else None
            if not _goes_on(body, self.thing.several) or marker in (None, last):
                return
            last = asked["marker"] = marker

    def by_ids(self, ids: Sequence[str]) -> dict[str, dict[str, Json]]:
        """Id → body, of services that filter by id."""
        found: dict[str, dict[str, Json]] = {}
        for start in range(0, len(ids), IDS_A_QUERY):
            for body in self.list(id=list(ids[start : start + IDS_A_QUERY])):
                found[str(body[self.thing.id_key])] = body
        return found

    def named(self, name: str, **query: Json) -> list[dict[str, Json]]:
        """Exactly of that name."""
        key = self.thing.name_key
        if key is None:
            return []
        if self.thing.name_query is not None:
            query = {self.thing.name_query: name, **query}
        return [body for body in self.list(**query) if body.get(key) == name]

    # -- below

    def path(self, *parts: str) -> str:
        """``parts`` are ids, which may hold any character, or words of the service."""
        return "/".join((self._filled(self.thing.base), *(quote(part, safe="") for part in parts)))

    def send(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        query: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        request = Request(
            service=self.thing.service,
            method=method,
            path=path,
            body=body,
            query=dict(query or {}),
            headers=dict(headers or {}),
            microversion=self.thing.microversion,
        )
        return self.cloud.send(request)

    def _filled(self, path: str) -> str:
        try:
            return path % self._places
        except KeyError as error:
            raise ResourceFailure(f"{path}: nothing is known of {error}") from error

    def _wrapped(self, body: dict[str, Json]) -> Json:
        return body if self.thing.one is None else {self.thing.one: body}

    def _bare(self, item: dict[str, Json]) -> dict[str, Json]:
        """Nova's key pairs are wrapped in lists, too."""
        one = self.thing.one
        return dict(item[one]) if one is not None and set(item) == {one} else item

    def _one(self, answer: Answer) -> dict[str, Json]:
        body = answer.body
        if isinstance(body, Mapping) and self.thing.one is not None:
            body = body.get(self.thing.one, body)
        return dict(body) if isinstance(body, Mapping) else {}


def _items(body: Json, key: str | None) -> list[dict[str, Json]]:
    if isinstance(body, Mapping):
        body = body.get(key) if key is not None else body
    return list(body) if isinstance(body, Iterable) and not isinstance(body, Mapping) else []


def _goes_on(body: Json, key: str | None) -> bool:
    """Nova, Cinder, Neutron and Octavia link in ``<key>_links``, Keystone in
    ``links``, Glance in ``next``."""
    if not isinstance(body, Mapping):
        return False
    links = body.get(f"{key}_links") or ()
    if any(link.get("rel") == "next" for link in links):
        return True
    own = body.get("links")
    return bool(body.get("next") or (isinstance(own, Mapping) and own.get("next")))
