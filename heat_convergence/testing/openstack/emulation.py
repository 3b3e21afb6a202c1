"""The emulated cloud: services, requests, delays and injected failures.

Decides the response to a request.  It is the same for every entity of the catalog; what single
services do beyond that is in the modules ``*_api``.  Opens no socket: ``http_adapter`` puts it
below openstacksdk.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.testing.openstack.collection import EmulatedCollection, EmulatedResource
from heat_convergence.testing.openstack.error_state import ErrorState

Json = Any
PROJECT_ID = "5f1c0de0000000000000000000000001"


@dataclass(frozen=True, slots=True)
class EmulatedRequest:
    """A request as a service receives it.

    Attributes:
        service: openstacksdk's name of the service, such as ``block_storage``.
        path: The path below the service's endpoint.
        path_parameters: Values of the placeholders in the handler's path.
        headers: Headers as sent.
    """

    service: str
    method: str
    path: str
    query: Mapping[str, list[str]]
    body: Json
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmulatedResponse:
    """A response of a service, whose body is JSON unless there is a text."""

    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if self.text is not None:
            return self.text.encode("latin-1")
        return b"" if self.body is None else json.dumps(self.body).encode()


class EmulatedError(Exception):
    """An error that a service responds with."""

    def __init__(self, status: int, message: str, error_type: str = "") -> None:
        super().__init__(message)
        self.response = EmulatedResponse(
            status, {"error": {"message": message, "type": error_type, "code": status}}
        )


@dataclass(slots=True)
class InjectedFailure:
    """A response for the next ``remaining`` requests that match.

    With ``after_processing`` the request takes effect nevertheless, as when a response is lost.
    """

    method: str
    path: str
    response: EmulatedResponse
    remaining: int = 1
    after_processing: bool = False

    def matches(self, request: EmulatedRequest) -> bool:
        """Return whether the request is to fail."""
        return bool(self.remaining and request.method == self.method) and (
            re.search(self.path, request.path) is not None
        )


EmulatedHandler = Callable[["Emulation", EmulatedRequest], EmulatedResponse]


class Emulation:
    """A cloud with a clock of its own, ``now_s``, which ``advance`` moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.availability_zones = ["nova"]
        self.missing_extensions: set[str] = set()
        self.request_counts: Counter[str] = Counter()
        self.injected_failures: list[InjectedFailure] = []
        self.latency_s: dict[str, float] = {}
        self._error_states: list[ErrorState] = []
        self._collections: dict[str, EmulatedCollection] = {}
        self._handlers: list[tuple[str, str, re.Pattern[str], EmulatedHandler]] = []
        self._create_hooks: dict[str, Callable[[Emulation, EmulatedResource], None]] = {}

    # -- for tests

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def collection(
        self, entity: str, path_values: Mapping[str, str] | None = None
    ) -> EmulatedCollection:
        """Return the collection of an entity.

        Args:
            entity: The entity's name, such as ``nova.server``.
            path_values: Ids in the collection's path, for collections below another resource.
        """
        key = entity + json.dumps(dict(path_values or {}), sort_keys=True)
        if key not in self._collections:
            id_key = REST_RESOURCES[entity].id_key if entity in REST_RESOURCES else "id"
            collection = EmulatedCollection(lambda: self.now_s, id_key)
            collection.on_add = lambda item: self._watch_creation(entity, item)
            self._collections[key] = collection
        return self._collections[key]

    def _watch_creation(self, entity: str, item: EmulatedResource) -> None:
        for error_state in self._error_states:
            if error_state.entity == entity and error_state.remaining:
                error_state.watch(item)
                return

    def remove(self, item_id: str) -> None:
        """Remove the resource of this id from its collection, as if another user had."""
        for collection in self._collections.values():
            collection.remove(item_id)

    def inject_error_state(self, error_state: ErrorState) -> None:
        """Let new resources end in an error state."""
        self._error_states.append(error_state)

    def count_requests(self, method: str, service: str = "") -> int:
        """Return the number of requests so far, by method and service."""
        return sum(
            number
            for key, number in self.request_counts.items()
            if key.startswith(f"{method} {service}")
        )

    def add(self, entity: str, **body: Json) -> dict[str, Json]:
        """Add a resource and return its body."""
        return self.collection(entity).add(dict(body)).body

    def inject_failure(
        self,
        method: str,
        path: str,
        status: int,
        *,
        times: int = 1,
        after_processing: bool = False,
        **headers: str,
    ) -> None:
        """Let requests fail.

        Args:
            method: The method of the requests that fail.
            path: A regular expression that is searched in their path.
            status: The HTTP status of the response.
            times: How many requests fail.
            after_processing: Whether the request takes effect nevertheless, as when a response is
                lost.
            headers: Headers of the response, with underscores for dashes.
        """
        body = {"error": {"message": "refused", "type": "", "code": status}}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.injected_failures.append(
            InjectedFailure(
                method, path, EmulatedResponse(status, body, names), times, after_processing
            )
        )

    # -- for handlers

    def add_handler(self, service: str, method: str, path: str, handler: EmulatedHandler) -> None:
        """Add a handler of requests; later ones take precedence.

        Args:
            service: openstacksdk's name of the service.
            method: The HTTP method.
            path: The path with placeholders such as ``{id}``.
            handler: Called with the emulation and the request.
        """
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "$")
        self._handlers.insert(0, (service, method, pattern, handler))

    def add_handlers(
        self, service: str, handlers: Iterable[tuple[str, str, EmulatedHandler]]
    ) -> None:
        """Add handlers, each with its method and its path, as ``add_handler`` does."""
        for method, path, handler in handlers:
            self.add_handler(service, method, path, handler)

    def on_create(self, entity: str, hook: Callable[[Emulation, EmulatedResource], None]) -> None:
        """Call ``hook`` for each new resource of the entity, which it may change or reject."""
        self._create_hooks[entity] = hook

    def get_existing(self, entity: str, item_id: str) -> EmulatedResource:
        """Return the resource of this id.

        Raises:
            EmulatedError: There is none (404).
        """
        item = self.collection(entity).get(item_id)
        if item is None:
            raise EmulatedError(404, f"{entity} {item_id} could not be found.")
        return item

    # -- requests

    def handle(self, request: EmulatedRequest) -> EmulatedResponse:
        """Return the response to a request."""
        self.request_counts[f"{request.method} {request.service} {request.path}"] += 1
        failure = next((each for each in self.injected_failures if each.matches(request)), None)
        if failure is not None:
            failure.remaining -= 1
            if not failure.after_processing:
                return failure.response
        response = self._respond(request)
        for error_state in self._error_states:
            error_state.apply(self.now_s)
        return response if failure is None else failure.response

    def _respond(self, request: EmulatedRequest) -> EmulatedResponse:
        try:
            for service, method, pattern, handler in self._handlers:
                match = pattern.match(request.path)
                if match and (service, method) == (request.service, request.method):
                    matched = replace(request, path_parameters=match.groupdict())
                    return handler(self, matched)
            return self._handle_generic(request)
        except EmulatedError as error:
            return error.response

    def _handle_generic(self, request: EmulatedRequest) -> EmulatedResponse:
        for rest_resource in REST_RESOURCES.values():
            if rest_resource.service != request.service:
                continue
            for base in (rest_resource.list_path_template, rest_resource.path_template):
                pattern = re.sub(r"%\((\w+)\)s", r"(?P<\1>[^/]+)", base)
                match = re.match(f"{pattern}(/(?P<own_id>[^/]+))?(/(?P<rest>.+))?$", request.path)
                if match:
                    path_values = match.groupdict()
                    own_id, rest = path_values.pop("own_id"), path_values.pop("rest")
                    if rest is None:
                        return self._collection(request, rest_resource, path_values, own_id)
                    if rest == "tags" and request.method == "PUT":
                        self._existing(rest_resource, path_values, str(own_id)).body["tags"] = (
                            request.body["tags"]
                        )
                        return EmulatedResponse(200, request.body)
        return EmulatedResponse(404, {"error": {"message": f"no such path: {request.path}"}})

    def _collection(
        self,
        request: EmulatedRequest,
        rest_resource: RestResource,
        path_values: dict[str, str],
        own_id: str | None,
    ) -> EmulatedResponse:
        if own_id is None:
            return (
                self._list(request, rest_resource, path_values)
                if request.method == "GET"
                else self._create(request, rest_resource, path_values)
            )
        item = self._existing(rest_resource, path_values, own_id)
        if request.method == "GET":
            return EmulatedResponse(200, _wrap(rest_resource, item.body))
        if request.method == "DELETE":
            self._delete(rest_resource, path_values, item, own_id)
            return EmulatedResponse(204)
        item.body.update(_unwrap(rest_resource, request.body))
        return EmulatedResponse(200, _wrap(rest_resource, item.body))

    def _list(
        self, request: EmulatedRequest, rest_resource: RestResource, path_values: dict[str, str]
    ) -> EmulatedResponse:
        bodies, more = self.collection(rest_resource.entity, path_values).list_page(request.query)
        if rest_resource.list_key is None:
            return EmulatedResponse(200, bodies)
        answer: dict[str, Json] = {str(rest_resource.list_key): bodies}
        if more:
            answer[f"{rest_resource.list_key}_links"] = [{"rel": "next", "href": request.path}]
        return EmulatedResponse(200, answer)

    def _create(
        self, request: EmulatedRequest, rest_resource: RestResource, path_values: dict[str, str]
    ) -> EmulatedResponse:
        body = {
            "project_id": PROJECT_ID,
            "tenant_id": PROJECT_ID,
            "status": "ACTIVE",
            **_unwrap(rest_resource, request.body),
        }
        item = self.collection(rest_resource.entity, path_values).add(body)
        hook = self._create_hooks.get(rest_resource.entity)
        if hook is not None:
            hook(self, item)
        duration_s = self.latency_s.get(rest_resource.entity, 0.0)
        if duration_s:
            ready = item.body["status"]
            item.body["status"] = "BUILD"
            item.scheduled_changes.append((self.now_s + duration_s, {"status": ready}))
        return EmulatedResponse(201, _wrap(rest_resource, item.body))

    def _delete(
        self,
        rest_resource: RestResource,
        path_values: dict[str, str],
        item: EmulatedResource,
        own_id: str,
    ) -> None:
        duration_s = self.latency_s.get(f"{rest_resource.entity} delete", 0.0)
        if duration_s:
            item.body["status"] = "deleting"
            item.scheduled_changes = [(self.now_s + duration_s, None)]
        else:
            self.collection(rest_resource.entity, path_values).remove(own_id)

    def _existing(
        self, rest_resource: RestResource, path_values: dict[str, str], own_id: str
    ) -> EmulatedResource:
        item = self.collection(rest_resource.entity, path_values).get(own_id)
        if item is None:
            raise EmulatedError(404, f"{rest_resource.label} {own_id} could not be found.")
        return item


def new_id() -> str:
    """Return a new UUID."""
    return str(uuid.uuid4())


def _wrap(rest_resource: RestResource, body: Mapping[str, Json]) -> Json:
    return body if rest_resource.item_key is None else {rest_resource.item_key: body}


def _unwrap(rest_resource: RestResource, body: Json) -> dict[str, Json]:
    if rest_resource.item_key is None or not isinstance(body, Mapping):
        return dict(body or {})
    return dict(body.get(rest_resource.item_key, body))
