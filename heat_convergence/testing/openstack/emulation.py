"""The emulated cloud: services, their calls, delays and injected failures.

Decides what a request is answered.  Generic for every kind of thing that the catalogue
knows; ``rules`` holds what single services do beyond that.  Holds no socket: ``wire``
puts it below openstacksdk.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.things import Thing
from heat_convergence.testing.openstack.shelf import Item, Shelf

Json = Any
PROJECT = "5f1c0de0000000000000000000000001"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as a service sees it; ``places`` are ids in its path."""

    service: str
    method: str
    path: str
    query: Mapping[str, list[str]]
    body: Json
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """Answered with an error."""

    def __init__(self, status: int, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.told = Told(status, {"error": {"message": message, "type": kind, "code": status}})


@dataclass(slots=True)
class Failure:
    """Answers ``told`` to the next ``times`` requests that fit; ``after``: only once the
    request has done its work, as when an answer is lost."""

    method: str
    path: str
    told: Told
    times: int = 1
    after: bool = False

    def fits(self, asked: Asked) -> bool:
        return bool(self.times and asked.method == self.method) and (
            re.search(self.path, asked.path) is not None
        )


Rule = Callable[["Emulation", Asked], Told]


class Emulation:
    """``now_s`` is its own time; ``advance`` lets it pass."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.zones = ["nova"]
        self.calls: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.latency_s: dict[str, float] = {}
        self._shelves: dict[str, Shelf] = {}
        self._rules: list[tuple[str, str, re.Pattern[str], Rule]] = []
        self._made: dict[str, Callable[[Emulation, Item], None]] = {}

    # -- for tests

    def advance(self, seconds: float) -> None:
        self.now_s += seconds

    def shelf(self, noun: str, places: Mapping[str, str] | None = None) -> Shelf:
        key = noun + json.dumps(dict(places or {}), sort_keys=True)
        if key not in self._shelves:
            id_key = THINGS[noun].id_key if noun in THINGS else "id"
            self._shelves[key] = Shelf(lambda: self.now_s, id_key)
        return self._shelves[key]

    def count(self, method: str, service: str = "") -> int:
        """Requests so far, by method and service."""
        return sum(
            number
            for key, number in self.calls.items()
            if key.startswith(f"{method} {service}")
        )

    def add(self, noun: str, **body: Json) -> dict[str, Json]:
        return self.shelf(noun).add(dict(body)).body

    def fail(self, method: str, path: str, status: int, message: str = "refused",
             *, kind: str = "", times: int = 1, after: bool = False, **headers: str) -> None:
        body = {"error": {"message": message, "type": kind, "code": status}}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.failures.append(Failure(method, path, Told(status, body, names), times, after))

    # -- for rules

    def rule(self, service: str, method: str, path: str, rule: Rule) -> None:
        """``path`` has places such as ``{id}``; later rules go first."""
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "$")
        self._rules.insert(0, (service, method, pattern, rule))

    def made(self, noun: str, change: Callable[[Emulation, Item], None]) -> None:
        """What a service adds to a new thing of its own."""
        self._made[noun] = change

    def existing(self, noun: str, item_id: str) -> Item:
        found = self.shelf(noun).get(item_id)
        if found is None:
            raise Refusal(404, f"{noun} {item_id} could not be found.")
        return found

    # -- a request

    def handle(self, asked: Asked) -> Told:
        self.calls[f"{asked.method} {asked.service} {asked.path}"] += 1
        failure = next((one for one in self.failures if one.fits(asked)), None)
        if failure is not None:
            failure.times -= 1
            if not failure.after:
                return failure.told
        told = self._answer(asked)
        return told if failure is None else failure.told

    def _answer(self, asked: Asked) -> Told:
        try:
            for service, method, pattern, rule in self._rules:
                match = pattern.match(asked.path)
                if match and (service, method) == (asked.service, asked.method):
                    places = match.groupdict()
                    found = Asked(
                        asked.service, asked.method, asked.path, asked.query, asked.body, places
                    )
                    return rule(self, found)
            return self._generic(asked)
        except Refusal as refusal:
            return refusal.told

    def _generic(self, asked: Asked) -> Told:
        for thing in THINGS.values():
            if thing.service != asked.service:
                continue
            for base in (thing.list_base, thing.base):
                pattern = re.sub(r"%\((\w+)\)s", r"(?P<\1>[^/]+)", base)
                match = re.match(f"{pattern}(/(?P<own_id>[^/]+))?(/(?P<rest>.+))?$", asked.path)
                if match:
                    places = match.groupdict()
                    own_id, rest = places.pop("own_id"), places.pop("rest")
                    if rest is None:
                        return self._collection(asked, thing, places, own_id)
                    if rest == "tags" and asked.method == "PUT":
                        self._existing(thing, places, str(own_id)).body["tags"] = asked.body[
                            "tags"
                        ]
                        return Told(200, asked.body)
        return Told(404, {"error": {"message": f"no such path: {asked.path}"}})

    def _collection(
        self, asked: Asked, thing: Thing, places: dict[str, str], own_id: str | None
    ) -> Told:
        if own_id is None:
            return (
                self._list(asked, thing, places)
                if asked.method == "GET"
                else self._create(asked, thing, places)
            )
        item = self._existing(thing, places, own_id)
        if asked.method == "GET":
            return Told(200, _wrapped(thing, item.body))
        if asked.method == "DELETE":
            self._delete(thing, places, item, own_id)
            return Told(204)
        item.body.update(_unwrapped(thing, asked.body))
        return Told(200, _wrapped(thing, item.body))

    def _list(self, asked: Asked, thing: Thing, places: dict[str, str]) -> Told:
        bodies, more = self.shelf(thing.noun, places).listed(asked.query)
        answer: dict[str, Json] = {str(thing.several): bodies}
        if more:
            answer[f"{thing.several}_links"] = [{"rel": "next", "href": asked.path}]
        return Told(200, answer)

    def _create(self, asked: Asked, thing: Thing, places: dict[str, str]) -> Told:
        body = {
            "project_id": PROJECT,
            "tenant_id": PROJECT,
            "status": "ACTIVE",
            **_unwrapped(thing, asked.body),
        }
        item = self.shelf(thing.noun, places).add(body)
        change = self._made.get(thing.noun)
        if change is not None:
            change(self, item)
        takes_s = self.latency_s.get(thing.noun, 0.0)
        if takes_s:
            ready = item.body["status"]
            item.body["status"] = "BUILD"
            item.coming.append((self.now_s + takes_s, {"status": ready}))
        return Told(201, _wrapped(thing, item.body))

    def _delete(
        self, thing: Thing, places: dict[str, str], item: Item, own_id: str
    ) -> None:
        takes_s = self.latency_s.get(f"{thing.noun} delete", 0.0)
        if takes_s:
            item.body["status"] = "deleting"
            item.coming = [(self.now_s + takes_s, None)]
        else:
            self.shelf(thing.noun, places).remove(own_id)

    def _existing(self, thing: Thing, places: dict[str, str], own_id: str) -> Item:
        found = self.shelf(thing.noun, places).get(own_id)
        if found is None:
            raise Refusal(404, f"{thing.noun_text} {own_id} could not be found.")
        return found


def new_id() -> str:
    return str(uuid.uuid4())


def _wrapped(thing: Thing, body: Mapping[str, Json]) -> Json:
    return body if thing.one is None else {thing.one: body}


def _unwrapped(thing: Thing, body: Json) -> dict[str, Json]:
    if thing.one is None or not isinstance(body, Mapping):
        return dict(body or {})
    return dict(body.get(thing.one, body))
