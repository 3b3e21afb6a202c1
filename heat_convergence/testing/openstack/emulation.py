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

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.testing.openstack.collection import EmulatedCollection, EmulatedResource

Json = Any
PROJECT_ID = "5f1c0de0000000000000000000000001"


@dataclass(frozen=True, slots=True)
class EmulatedRequest:
    """A request as a service sees it; ``places`` are ids in its path."""

    service: str
    method: str
    path: str
    query: Mapping[str, list[str]]
    body: Json
    path_parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmulatedResponse:
    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


class EmulatedError(Exception):
    """Answered with an error."""

    def __init__(self, status: int, message: str, error_type: str = "") -> None:
        super().__init__(message)
        self.response = EmulatedResponse(
            status, {"error": {"message": message, "type": error_type, "code": status}}
        )


@dataclass(slots=True)
class InjectedFailure:
    """Answers ``told`` to the next ``times`` requests that fit; ``after``: only once the
    request has done its work, as when an answer is lost."""

    method: str
    path: str
    response: EmulatedResponse
    remaining: int = 1
    after_processing: bool = False

    def matches(self, asked: EmulatedRequest) -> bool:
        return bool(self.remaining and asked.method == self.method) and (
            re.search(self.path, asked.path) is not None
        )


EmulatedHandler = Callable[["Emulation", EmulatedRequest], EmulatedResponse]


class Emulation:
    """``now_s`` is its own time; ``advance`` lets it pass."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.availability_zones = ["nova"]
        self.request_counts: Counter[str] = Counter()
        self.injected_failures: list[InjectedFailure] = []
        self.latency_s: dict[str, float] = {}
        self._shelves: dict[str, EmulatedCollection] = {}
        self._rules: list[tuple[str, str, re.Pattern[str], EmulatedHandler]] = []
        self._made: dict[str, Callable[[Emulation, EmulatedResource], None]] = {}

    # -- for tests

    def advance(self, seconds: float) -> None:
        self.now_s += seconds

    def collection(self, noun: str, places: Mapping[str, str] | None = None) -> EmulatedCollection:
        key = noun + json.dumps(dict(places or {}), sort_keys=True)
        if key not in self._shelves:
            id_key = REST_RESOURCES[noun].id_key if noun in REST_RESOURCES else "id"
            self._shelves[key] = EmulatedCollection(lambda: self.now_s, id_key)
        return self._shelves[key]

    def count_requests(self, method: str, service: str = "") -> int:
        """Requests so far, by method and service."""
        return sum(
            number
            for key, number in self.request_counts.items()
            if key.startswith(f"{method} {service}")
        )

    def add(self, noun: str, **body: Json) -> dict[str, Json]:
        return self.collection(noun).add(dict(body)).body

    def inject_failure(
        self,
        method: str,
        path: str,
        status: int,
        message: str = "refused",
        *,
        error_type: str = "",
        times: int = 1,
        after_processing: bool = False,
        **headers: str,
    ) -> None:
        body = {"error": {"message": message, "type": error_type, "code": status}}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.injected_failures.append(
            InjectedFailure(
                method, path, EmulatedResponse(status, body, names), times, after_processing
            )
        )

    # -- for rules

    def add_handler(self, service: str, method: str, path: str, handler: EmulatedHandler) -> None:
        """``path`` has places such as ``{id}``; later rules go first."""
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "$")
        self._rules.insert(0, (service, method, pattern, handler))

    def on_create(self, noun: str, change: Callable[[Emulation, EmulatedResource], None]) -> None:
        """What a service adds to a new thing of its own."""
        self._made[noun] = change

    def get_existing(self, noun: str, item_id: str) -> EmulatedResource:
        found = self.collection(noun).get(item_id)
        if found is None:
            raise EmulatedError(404, f"{noun} {item_id} could not be found.")
        return found

    # -- a request

    def handle(self, asked: EmulatedRequest) -> EmulatedResponse:
        self.request_counts[f"{asked.method} {asked.service} {asked.path}"] += 1
        failure = next((one for one in self.injected_failures if one.matches(asked)), None)
        if failure is not None:
            failure.remaining -= 1
            if not failure.after_processing:
                return failure.response
        told = self._answer(asked)
        return told if failure is None else failure.response

    def _answer(self, asked: EmulatedRequest) -> EmulatedResponse:
        try:
            for service, method, pattern, rule in self._rules:
                match = pattern.match(asked.path)
                if match and (service, method) == (asked.service, asked.method):
                    places = match.groupdict()
                    found = EmulatedRequest(
                        asked.service, asked.method, asked.path, asked.query, asked.body, places
                    )
                    return rule(self, found)
            return self._generic(asked)
        except EmulatedError as refusal:
            return refusal.response

    def _generic(self, asked: EmulatedRequest) -> EmulatedResponse:
        for thing in REST_RESOURCES.values():
            if thing.service != asked.service:
                continue
            for base in (thing.list_path_template, thing.path_template):
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
                        return EmulatedResponse(200, asked.body)
        return EmulatedResponse(404, {"error": {"message": f"no such path: {asked.path}"}})

    def _collection(
        self,
        asked: EmulatedRequest,
        thing: RestResource,
        places: dict[str, str],
        own_id: str | None,
    ) -> EmulatedResponse:
        if own_id is None:
            return (
                self._list(asked, thing, places)
                if asked.method == "GET"
                else self._create(asked, thing, places)
            )
        item = self._existing(thing, places, own_id)
        if asked.method == "GET":
            return EmulatedResponse(200, _wrapped(thing, item.body))
        if asked.method == "DELETE":
            self._delete(thing, places, item, own_id)
            return EmulatedResponse(204)
        item.body.update(_unwrapped(thing, asked.body))
        return EmulatedResponse(200, _wrapped(thing, item.body))

    def _list(
        self, asked: EmulatedRequest, thing: RestResource, places: dict[str, str]
    ) -> EmulatedResponse:
        bodies, more = self.collection(thing.entity, places).list_page(asked.query)
        answer: dict[str, Json] = {str(thing.list_key): bodies}
        if more:
            answer[f"{thing.list_key}_links"] = [{"rel": "next", "href": asked.path}]
        return EmulatedResponse(200, answer)

    def _create(
        self, asked: EmulatedRequest, thing: RestResource, places: dict[str, str]
    ) -> EmulatedResponse:
        body = {
            "project_id": PROJECT_ID,
            "tenant_id": PROJECT_ID,
            "status": "ACTIVE",
            **_unwrapped(thing, asked.body),
        }
        item = self.collection(thing.entity, places).add(body)
        change = self._made.get(thing.entity)
        if change is not None:
            change(self, item)
        takes_s = self.latency_s.get(thing.entity, 0.0)
        if takes_s:
            ready = item.body["status"]
            item.body["status"] = "BUILD"
            item.scheduled_changes.append((self.now_s + takes_s, {"status": ready}))
        return EmulatedResponse(201, _wrapped(thing, item.body))

    def _delete(
        self, thing: RestResource, places: dict[str, str], item: EmulatedResource, own_id: str
    ) -> None:
        takes_s = self.latency_s.get(f"{thing.entity} delete", 0.0)
        if takes_s:
            item.body["status"] = "deleting"
            item.scheduled_changes = [(self.now_s + takes_s, None)]
        else:
            self.collection(thing.entity, places).remove(own_id)

    def _existing(
        self, thing: RestResource, places: dict[str, str], own_id: str
    ) -> EmulatedResource:
        found = self.collection(thing.entity, places).get(own_id)
        if found is None:
            raise EmulatedError(404, f"{thing.label} {own_id} could not be found.")
        return found


def new_id() -> str:
    return str(uuid.uuid4())


def _wrapped(thing: RestResource, body: Mapping[str, Json]) -> Json:
    return body if thing.item_key is None else {thing.item_key: body}


def _unwrapped(thing: RestResource, body: Json) -> dict[str, Json]:
    if thing.item_key is None or not isinstance(body, Mapping):
        return dict(body or {})
    return dict(body.get(thing.item_key, body))
