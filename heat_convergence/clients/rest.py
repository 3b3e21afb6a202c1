"""Requests to a cloud's services over openstacksdk, for one project.

Decides how a request is sent and what its failure means.  Used by the declarative
driver on top of ``View.cloud``, and by constraints.  A connection is made at the
first request, never before.  Must not retry or wait.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import requests
from keystoneauth1 import exceptions as auth_errors
from keystoneauth1.adapter import Adapter
from openstack import exceptions as sdk_errors

from heat_convergence.clients import answers
from heat_convergence.common.errors import (
    Error,
    Forbidden,
    ResourceFailure,
    ResourceTypeUnavailable,
    TemporaryFailure,
)

Json = Any

# What keystoneauth and openstacksdk raise when nothing has answered.
_UNREACHABLE = (
    auth_errors.ConnectFailure,
    auth_errors.RetriableConnectionFailure,
    auth_errors.DiscoveryFailure,
    sdk_errors.ServiceDiscoveryException,
    requests.RequestException,
)
_NO_SERVICE = (
    auth_errors.EndpointNotFound,
    auth_errors.CatalogException,
    sdk_errors.EndpointNotFound,
    sdk_errors.ServiceDisabledException,
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a service; ``path`` is relative to its endpoint.

    ``service`` is openstacksdk's name of it: compute, network, block_storage.
    """

    service: str
    method: str
    path: str
    body: Json = None
    query: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    microversion: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A success; ``body`` is None where there was no JSON, ``content`` as it came."""

    status: int
    headers: Mapping[str, str]
    body: Json
    content: bytes = b""


class Cloud(Protocol):
    """What resource types need of a cloud.

    ``key`` is equal for clouds whose lists and names are the same: cloud, region
    and project.
    """

    key: str
    project_id: str | None

    def send(self, request: Request) -> Answer:
        """Raises errors of ``common.errors``: ``ResourceGone``, ``Conflict``,
        ``OverQuota``, ``Throttled``, ``TemporaryFailure``, ``ResourceFailure``."""
        ...

    def has(self, service: str) -> bool:
        """Whether the catalogue lists the service."""
        ...

    def url(self, service: str) -> str:
        """The service's endpoint."""
        ...


class Slots:
    """How many requests a process has open at each service at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._slots: dict[str, threading.BoundedSemaphore] = {}

    def of(self, service: str) -> threading.BoundedSemaphore:
        with self._lock:
            if service not in self._slots:
                self._slots[service] = threading.BoundedSemaphore(self._limit)
            return self._slots[service]


class Connected:
    """A cloud by way of an ``openstack.connection.Connection``."""

    def __init__(
        self,
        key: str,
        project_id: str | None,
        connect: Callable[[], Any],
        slots: Slots,
    ) -> None:
        self.key = key
        self.project_id = project_id
        self._connect = connect
        self._slots = slots

    def send(self, request: Request) -> Answer:
        with self._slots.of(request.service):
            response = _guarded(request.service, lambda: self._send(request))
        if response.status_code >= 400:
            raise answers.of_answer(
                request.method,
                request.path,
                response.status_code,
                response.headers,
                response.text,
            )
        return Answer(
            response.status_code, dict(response.headers), _body(response), response.content
        )

    def _send(self, request: Request) -> requests.Response:
        proxy = getattr(self._connect(), request.service)
        given: dict[str, Any] = {}
        if request.body is not None:
            given["json"] = request.body
        if request.query:
            given["params"] = request.query
        if request.microversion:
            given["microversion"] = request.microversion
        headers = {"Accept": "application/json", **request.headers}
        response: requests.Response = proxy.request(
            request.path, request.method, headers=headers, raise_exc=False, **given
        )
        return response

    def has(self, service: str) -> bool:
        try:
            return bool(self.url(service))
        except ResourceTypeUnavailable:
            return False

    def url(self, service: str) -> str:
        # The identity proxy has a method of the same name that reads endpoints.
        found = _guarded(
            service, lambda: Adapter.get_endpoint(getattr(self._connect(), service))
        )
        if not found:
            raise ResourceTypeUnavailable(
                f"HEAT-E99001 Service {service} is not in the service catalog."
            )
        return str(found)


def _guarded(service: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except _NO_SERVICE as error:
        raise ResourceTypeUnavailable(f"HEAT-E99001 the service {service}: {error}") from error
    except (auth_errors.Unauthorized, auth_errors.Forbidden) as error:
        raise Forbidden(f"{service}: {error}") from error
    except _UNREACHABLE as error:
        raise TemporaryFailure(f"{service} can't be reached: {error}") from error
    except auth_errors.HttpError as error:
        raise _of_auth(service, error) from error
    except (auth_errors.ClientException, sdk_errors.SDKException) as error:
        raise ResourceFailure(f"{service}: {error}") from error


def _of_auth(service: str, error: auth_errors.HttpError) -> Error:
    """The identity service, asked for a token, answered with an error."""
    status = getattr(error, "http_status", 500) or 500
    if status >= 500 or status == 429:
        return TemporaryFailure(f"{service}: no token: {error}")
    return ResourceFailure(f"{service}: no token: {error}")


def _body(response: requests.Response) -> Json:
    try:
        return json.loads(response.text) if response.text else None
    except ValueError:
        return None
