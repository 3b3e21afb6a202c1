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

from heat_convergence.clients import error_mapping
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
class CloudRequest:
    """What is asked of a service; ``path`` is relative to its endpoint.

    ``service_auth`` is openstacksdk's name of it: compute, network, block_storage.
    """

    service: str
    method: str
    path: str
    body: Json = None
    query: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    microversion: str | None = None


@dataclass(frozen=True, slots=True)
class CloudResponse:
    """A success; ``body`` is None where there was no JSON, ``build_content`` as it came."""

    status: int
    headers: Mapping[str, str]
    body: Json
    content: bytes = b""


class CloudClient(Protocol):
    """What resource types need of a cloud.

    ``key`` is equal for clouds whose lists and names are the same: cloud, region
    and project.
    """

    cache_key: str
    project_id: str | None

    def send(self, request: CloudRequest) -> CloudResponse:
        """Raises errors of ``common.errors``: ``ResourceGone``, ``Conflict``,
        ``OverQuota``, ``Throttled``, ``TemporaryFailure``, ``ResourceFailure``."""
        ...

    def has_service(self, service: str) -> bool:
        """Whether the catalogue lists the service."""
        ...

    def endpoint_url(self, service: str) -> str:
        """The service's endpoint."""
        ...


class RequestLimiter:
    """How many requests a process has open at each service at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._slots: dict[str, threading.BoundedSemaphore] = {}

    def semaphore_for(self, service: str) -> threading.BoundedSemaphore:
        with self._lock:
            if service not in self._slots:
                self._slots[service] = threading.BoundedSemaphore(self._limit)
            return self._slots[service]


class SdkCloudClient:
    """A cloud by way of an ``openstack.connection.Connection``."""

    def __init__(
        self,
        cache_key: str,
        project_id: str | None,
        connect: Callable[[], Any],
        request_limiter: RequestLimiter,
    ) -> None:
        self.cache_key = cache_key
        self.project_id = project_id
        self._connect = connect
        self._slots = request_limiter

    def send(self, request: CloudRequest) -> CloudResponse:
        with self._slots.semaphore_for(request.service):
            response = _guarded(request.service, lambda: self._send(request))
        if response.status_code >= 400:
            raise error_mapping.error_from_response(
                request.method,
                request.path,
                response.status_code,
                response.headers,
                response.text,
            )
        return CloudResponse(
            response.status_code, dict(response.headers), _body(response), response.content
        )

    def _send(self, request: CloudRequest) -> requests.Response:
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

    def has_service(self, service: str) -> bool:
        try:
            return bool(self.endpoint_url(service))
        except ResourceTypeUnavailable:
            return False

    def endpoint_url(self, service: str) -> str:
        # The identity proxy has a method of the same name that reads endpoints.
        found = _guarded(service, lambda: Adapter.get_endpoint(getattr(self._connect(), service)))
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
