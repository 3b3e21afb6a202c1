"""Requests to the services of a cloud over openstacksdk, for one project.

Decides how a request is sent and which error its failure is. Used by the declarative driver
through ``ResourceContext.cloud``, and by custom constraints. A connection is opened with the
first request, never before. Must not retry or wait.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import requests
from keystoneauth1 import exceptions as auth_errors
from keystoneauth1.adapter import Adapter

from heat_convergence.clients import error_mapping
from heat_convergence.clients.circuit_breaker import (
    FAILURE_SCOPES,
    Attempt,
    CircuitBreakers,
    Endpoint,
    FailureScope,
)
from heat_convergence.clients.sdk.connections import connect_in_region
from heat_convergence.clients.sdk.loading import with_sdk_errors
from heat_convergence.clients.version_documents import DocumentUnreadable
from heat_convergence.common import time_limit
from heat_convergence.common.errors import Error, Forbidden, ResourceTypeUnavailable
from heat_convergence.common.failures import (
    CallRefused,
    ResourceFailure,
    TemporaryFailure,
    Throttled,
)
from heat_convergence.common.telemetry.call_metrics import timed_call

Json = Any
MIN_TIMEOUT_S = 1.0  # no request is sent that would have less time

# Errors of keystoneauth: nothing responded; the catalog does not list the service.
_UNREACHABLE = (
    auth_errors.ConnectFailure,
    auth_errors.RetriableConnectionFailure,
    auth_errors.DiscoveryFailure,
    DocumentUnreadable,
    requests.RequestException,
)
_NO_SERVICE = (auth_errors.EndpointNotFound, auth_errors.CatalogException)


@dataclass(frozen=True, slots=True)
class CloudRequest:
    """A request to a service.

    Attributes:
        service: openstacksdk's name of the service: compute, network, block_storage.
        method: HTTP method.
        path: Path relative to the endpoint of the service.
        body: JSON document, or a text that is sent as it is; None for no body.
        query: Query parameters.
        headers: Further headers.
        microversion: Microversion of the API; None for the default.
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
    """A successful response.

    Attributes:
        status: HTTP status.
        headers: Headers as received.
        body: Parsed JSON; None when there was none.
        content: Body as received.
    """

    status: int
    headers: Mapping[str, str]
    body: Json
    content: bytes = b""


class CloudClient(Protocol):
    """Client that resource types need of a cloud.

    Attributes:
        cache_key: Equal for clouds with the same lists and names: cloud, region and
            project.
        project_id: Project of the requests.
    """

    cache_key: str
    project_id: str | None

    def send(self, request: CloudRequest) -> CloudResponse:
        """Send a request and return its successful response.

        Raises:
            ResourceGone: 404.
            Conflict: Another operation is in progress.
            OverQuota: A quota is exhausted.
            Throttled: The service asks for fewer requests.
            CallRefused: Earlier calls have failed: nothing was sent.
            TemporaryFailure: The service could not answer now.
            ResourceFailure: Any other failure, which is final.
        """
        ...

    def has_service(self, service: str) -> bool:
        """Return whether the service catalog lists the service."""
        ...

    def endpoint_url(self, service: str) -> str:
        """Return the endpoint of the service."""
        ...

    def in_region(self, region: str) -> CloudClient:
        """Return a client of the same cloud, user and project in another region."""
        ...


def make_cache_key(project_id: str | None, region: str | None) -> str:
    """Return the key of what clouds of the same project and region may share."""
    return f"{project_id or ''} {region or ''}"


@dataclass(slots=True)
class _Places:
    """The places at one service of a region, while requests have or await one."""

    semaphore: threading.BoundedSemaphore
    requests: int = 0


class RequestLimiter:
    """Limit on the requests that a process has open at each service of a region.

    Users name regions, so nothing is kept of one without requests.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._places: dict[Endpoint, _Places] = {}

    @contextmanager
    def slot(self, endpoint: Endpoint) -> Iterator[None]:
        """Take a place for one request to a service in a region.

        Raises:
            CallRefused: There is none within the time limit of the thread.
        """
        left_s = time_limit.remaining_s()
        with self._places_at(endpoint.in_scope(FailureScope.ENDPOINT)) as semaphore:
            if not semaphore.acquire(timeout=None if left_s is None else max(left_s, 0.0)):
                raise CallRefused(f"{endpoint.service} has too many requests open")
            try:
                yield
            finally:
                semaphore.release()

    @contextmanager
    def _places_at(self, endpoint: Endpoint) -> Iterator[threading.BoundedSemaphore]:
        """Yield the semaphore of an endpoint, which its last request removes."""
        with self._lock:
            if endpoint not in self._places:
                self._places[endpoint] = _Places(threading.BoundedSemaphore(self._limit))
            places = self._places[endpoint]
            places.requests += 1
        try:
            yield places.semaphore
        finally:
            with self._lock:
                places.requests -= 1
                if not places.requests:
                    del self._places[endpoint]


class SdkCloudClient:
    """A client over an ``openstack.connection.Connection``.

    Args:
        cache_key: Key of lists and names that may be shared.
        project_id: Project of the requests.
        connect: Function that returns the connection.
        request_limiter: The process's limit on open requests.
        region: Region of the connection, where the resource names one.
        breakers: The process's circuit breakers; None for those of this client alone.
    """

    users: Any = None  # who acts for one project creates no users for signals

    def __init__(
        self,
        cache_key: str,
        project_id: str | None,
        connect: Callable[[], Any],
        request_limiter: RequestLimiter,
        region: str | None = None,
        *,
        breakers: CircuitBreakers | None = None,
    ) -> None:
        self.cache_key = cache_key
        self.project_id = project_id
        self.region = region
        self._breakers = breakers or CircuitBreakers()
        self._connect = connect
        self._request_limiter = request_limiter

    def send(self, request: CloudRequest) -> CloudResponse:
        """Send a request and return its successful response."""
        endpoint = self._endpoint(request.service)
        self._breakers.check(endpoint)  # before a place is taken
        left_s = time_limit.remaining_s()
        if left_s is not None and left_s < MIN_TIMEOUT_S:
            raise TemporaryFailure(f"{request.service}: the time limit is exceeded")
        self._log_in()
        with (
            self._request_limiter.slot(endpoint),
            self._breakers.attempt(endpoint) as attempt,
        ):
            return self._attempt(request, attempt)

    def _attempt(self, request: CloudRequest, attempt: Attempt) -> CloudResponse:
        try:
            with timed_call(request.service, request.method) as call:
                response = _translate_errors(request.service, lambda: self._send(request))
                call.record_status(response.status_code)
        except TemporaryFailure as unreachable:
            attempt.fail(FailureScope.ENDPOINT, unreachable)
            raise
        error = None if response.status_code < 400 else _response_error(request, response)
        scope = FAILURE_SCOPES.get(response.status_code)
        if isinstance(error, Throttled):
            scope = FailureScope.PROJECT
        if isinstance(error, TemporaryFailure) and scope is not None:
            attempt.fail(scope, error)
        else:
            attempt.succeed()
        if error is not None:
            raise error
        return CloudResponse(
            response.status_code, dict(response.headers), _body(response), response.content
        )

    def _log_in(self) -> None:
        """Get a token first, so that no failure of Keystone is taken for the service's."""
        _translate_errors("identity", lambda: self._connect().session.get_auth_headers())

    def _endpoint(self, service: str) -> Endpoint:
        region = self.region or self._connect().config.get_region_name(service)
        return Endpoint(service, region or "", self.project_id or "")

    def in_region(self, region: str) -> SdkCloudClient:
        """Return a client of the same cloud, user and project in another region."""
        return SdkCloudClient(
            f"{self.cache_key} {region}",
            self.project_id,
            cache(lambda: connect_in_region(self._connect(), region)),
            self._request_limiter,
            region,
            breakers=self._breakers,
        )

    def _send(self, request: CloudRequest) -> requests.Response:
        proxy = getattr(self._connect(), request.service)
        arguments: dict[str, Any] = {}
        if isinstance(request.body, str):
            arguments["data"] = request.body.encode()
        elif request.body is not None:
            arguments["json"] = request.body
        if request.query:
            arguments["params"] = request.query
        if request.microversion:
            arguments["microversion"] = request.microversion
        left_s = time_limit.remaining_s()
        if left_s is not None:
            arguments.update(timeout=max(left_s, MIN_TIMEOUT_S), connect_retries=0)
        headers = {"Accept": "application/json", **request.headers}
        response: requests.Response = proxy.request(
            request.path, request.method, headers=headers, raise_exc=False, **arguments
        )
        return response

    def has_service(self, service: str) -> bool:
        """Return whether the service catalog lists the service, which is not asked itself."""
        connection = self._connect()
        config, name = connection.config, service.replace("_", "-")
        try:
            found = _translate_errors(
                service,
                lambda: connection.session.get_endpoint(
                    service_type=config.get_service_type(name),
                    interface=config.get_interface(name),
                    region_name=self.region or config.get_region_name(name),
                    skip_discovery=True,
                ),
            )
        except ResourceTypeUnavailable:
            return False
        return bool(found)

    def endpoint_url(self, service: str) -> str:
        """Return the endpoint of the service."""
        try:
            # The identity proxy has a method of the same name that reads endpoints.
            found = _translate_errors(
                service, lambda: Adapter.get_endpoint(getattr(self._connect(), service))
            )
        except ResourceTypeUnavailable as error:
            raise ResourceTypeUnavailable(self._absence_of(service)) from error
        if not found:
            raise ResourceTypeUnavailable(self._absence_of(service))
        return str(found)

    def _absence_of(self, service: str) -> str:
        if self.region is None:
            return f"HEAT-E99001 Service {service} is not in the service catalog."
        interface = self._connect().config.get_interface(service) or "public"
        return f"{interface} endpoint for {service} service in {self.region} region not found"


def _translate_errors(service: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except with_sdk_errors(_NO_SERVICE, "EndpointNotFound", "ServiceDisabledException") as error:
        raise ResourceTypeUnavailable(f"HEAT-E99001 the service {service}: {error}") from error
    except (auth_errors.Unauthorized, auth_errors.Forbidden) as error:
        raise Forbidden(f"{service}: {error}") from error
    except with_sdk_errors(_UNREACHABLE, "ServiceDiscoveryException") as error:
        raise TemporaryFailure(f"{service} cannot be reached: {error}") from error
    except auth_errors.HttpError as error:
        raise _token_error(service, error) from error
    except with_sdk_errors((auth_errors.ClientException,), "SDKException") as error:
        raise ResourceFailure(f"{service}: {error}") from error


def _response_error(request: CloudRequest, response: requests.Response) -> Error:
    return error_mapping.error_from_response(
        error_mapping.ErrorResponse(
            request.method, request.path, response.status_code, response.headers, response.text
        )
    )


def _token_error(service: str, error: auth_errors.HttpError) -> Error:
    """Return the error for Keystone's refusal of a token."""
    status = getattr(error, "http_status", 500) or 500
    if status >= 500 or status == 429:
        return TemporaryFailure(f"{service}: no token: {error}")
    return ResourceFailure(f"{service}: no token: {error}")


def _body(response: requests.Response) -> Json:
    try:
        return json.loads(response.text) if response.text else None
    except (ValueError, RecursionError):  # no JSON, or nested too deeply
        return None
