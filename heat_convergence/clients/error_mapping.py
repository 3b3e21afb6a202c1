"""Errors of this service for the errors of other services.

Called by ``rest_client`` for every unsuccessful response, and around every call of a client
library: ``with translate_sdk_errors(): …``. Decides from status, headers and error documents
which resource is missing, what can be retried and what is final. Must not retry: the class of
the error decides what a worker does.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from keystoneauth1 import exceptions as ks_exc

from heat_convergence.clients.sdk.loading import with_sdk_errors
from heat_convergence.clients.version_documents import DocumentUnreadable
from heat_convergence.common.clock import utc_now
from heat_convergence.common.errors import Error, Forbidden, ResourceTypeUnavailable
from heat_convergence.common.failures import (
    Conflict,
    OverQuota,
    ResourceFailure,
    ResourceGone,
    ServiceRejection,
    TemporaryFailure,
    Throttled,
)

Json = Any
MAX_MESSAGE_CHARACTERS = 500
MAX_RETRY_AFTER_S = 300.0  # longer pauses that services ask for are shortened
# A create that fails with one of these can be repeated; every other 409 in response to a
# create is final.
TEMPORARY_CONFLICT_TYPES = frozenset({"RetryRequest", "NetworkNotReady", "StateInvalid"})
# Octavia's message while a parent is being changed.
IMMUTABLE_MARKER = "is immutable"
# Ends of the paths whose POST changes an existing resource.
MODIFYING_POST_PATHS = re.compile(r"/(action|actions/\w+|restore|import|os-[\w-]+)$")

_TEXT_KEYS = ("message", "detail", "faultstring", "description")
# Neutron's error types that its client library has classes for, with "Client" appended.
_NETWORK_ERROR_TYPES = frozenset(
    {
        "ExternalIpAddressExhausted",
        "HostNotCompatibleWithFixedIps",
        "InvalidIpForNetwork",
        "InvalidIpForSubnet",
        "IpAddressAlreadyAllocated",
        "IpAddressGenerationFailure",
        "IpAddressInUse",
        "MacAddressInUse",
        "NetworkInUse",
        "PortInUse",
    }
)
_NAMES_BY_STATUS = {400: "BadRequest", 409: "Conflict"}
_TEMPORARY = frozenset({408, 425, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An unsuccessful response to ``method`` and ``path``; ``text`` is its body."""

    method: str
    path: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def is_create(self) -> bool:
        """True when the request was to create a resource."""
        return self.method == "POST" and not MODIFYING_POST_PATHS.search(self.path)

    @property
    def retry_after_s(self) -> float | None:
        """Seconds that the service asks to wait; None for none."""
        return parse_retry_after(self.headers)


def error_from_response(response: ErrorResponse) -> Error:
    """Return the error for an unsuccessful response, from status, headers and body.

    Its ``summary`` is the service's own text, without the status.
    """
    found = _parse_document(response.text)
    error = _error_for(response, found)
    error.summary = found.summary
    return error


def _error_for(response: ErrorResponse, found: _ErrorDocument) -> Error:
    error_type, message = found.type, found.message
    reason = message or response.text[:MAX_MESSAGE_CHARACTERS] or "no reason given"
    text = f"{reason} (HTTP {response.status})"
    retry_after_s = response.retry_after_s
    if _is_quota_error(response.status, error_type, message):
        return OverQuota(text)
    if response.status == 404:
        return ResourceGone(text)
    if response.status == 429 or (
        response.status == 413 and "retry-after" in _lowercase_names(response.headers)
    ):
        return Throttled(text, retry_after_s=retry_after_s)
    if response.status == 409:
        is_temporary = (
            not response.is_create
            or error_type in TEMPORARY_CONFLICT_TYPES
            or IMMUTABLE_MARKER in message
        )
        return Conflict(text) if is_temporary else _rejection(response.status, error_type, text)
    if response.status in _TEMPORARY:
        return TemporaryFailure(text, retry_after_s=retry_after_s)
    if response.status in (401, 403):
        return Forbidden(text)
    return _rejection(response.status, error_type, text)


def _rejection(status: int | None, error_type: str, text: str) -> ResourceFailure:
    """Return a final failure under the name that the service's client library gives it."""
    if error_type in _NETWORK_ERROR_TYPES:
        return ServiceRejection(text, f"{error_type}Client")
    if status in _NAMES_BY_STATUS:
        return ServiceRejection(text, _NAMES_BY_STATUS[status])
    return ResourceFailure(text)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the pause that a response asks for, at most ``MAX_RETRY_AFTER_S``.

    Returns:
        Seconds, or None for a response without a valid Retry-After.

    Source: RFC 9110, 10.2.3: seconds, or a date, which is compared with the response's own.
    """
    named = _lowercase_names(headers)
    text = str(named.get("retry-after", ""))
    try:
        seconds: float | None = float(text)
    except ValueError:
        seconds = _seconds_until(text, named)
    if seconds is not None and math.isnan(seconds):
        return None
    return None if seconds is None else min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def _seconds_until(text: str, named: Mapping[str, str]) -> float | None:
    until, sent_at = _http_date(text), _http_date(named.get("date", ""))
    return None if until is None else (until - (sent_at or utc_now())).total_seconds()


def _http_date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def error_from_status(status: int | None, text: str, retry_after_s: float | None = None) -> Error:
    """Return the error for an HTTP status that a client library reports without its document.

    In contrast to ``error_from_response``, every 409 can be retried, 413 is always a quota, and
    401 and 403 are failures of the resource.
    """
    if status == 404:
        return ResourceGone(text)
    if status == 409:
        return Conflict(text, retry_after_s=retry_after_s)
    if status == 429:
        return Throttled(text, retry_after_s=retry_after_s)
    if status == 413:
        return OverQuota(text)
    if status in _TEMPORARY:
        return TemporaryFailure(text, retry_after_s=retry_after_s)
    if status in (401, 403):
        return ResourceFailure(f"the service refused the stack's user: {text}")
    return _rejection(status, "", text)


@contextmanager
def translate_sdk_errors() -> Iterator[None]:
    """Translate errors of keystoneauth and openstacksdk into ``common.failures``."""
    try:
        yield
    except ks_exc.CatalogException as error:
        raise ResourceTypeUnavailable(f"HEAT-E99001 Service is not available: {error}") from error
    except ks_exc.HttpError as error:
        headers = _headers(error) or {"retry-after": str(getattr(error, "retry_after", "") or "")}
        raise error_from_status(
            error.http_status, str(error), parse_retry_after(headers)
        ) from error
    except (ks_exc.ConnectionError, ks_exc.DiscoveryFailure, DocumentUnreadable) as error:
        raise TemporaryFailure(str(error)) from error
    except with_sdk_errors((), "HttpException") as error:
        raise _error_of_sdk(error) from error
    except with_sdk_errors((ks_exc.ClientException,), "SDKException") as error:
        raise ResourceFailure(f"{type(error).__name__}: {error}") from error


def _is_quota_error(status: int, error_type: str, message: str) -> bool:
    """Return whether the response reports a quota: Neutron's 409, Nova's 403, Cinder's 413."""
    if "OverQuota" in error_type:
        return True
    words = message.lower()
    names_quota = (
        "quota" in words or "limitexceeded" in error_type.lower() or "exceeds allowed" in words
    )
    return status in (403, 409, 413) and names_quota


@dataclass(frozen=True, slots=True)
class _ErrorDocument:
    """The parts of an error document; empty texts where it has none."""

    type: str = ""
    message: str = ""
    summary: str = ""


def _parse_document(text: str) -> _ErrorDocument:
    try:
        document = json.loads(text)
    except ValueError:
        return _ErrorDocument()
    if not isinstance(document, Mapping):
        return _ErrorDocument()
    for key, value in document.items():
        if isinstance(value, Mapping) and any(name in value for name in _TEXT_KEYS):
            error_type, message = (
                value.get("type") or value.get("title") or key,
                _message_of(value),
            )
            summary = str(value.get("summary") or message)[:MAX_MESSAGE_CHARACTERS]
            return _ErrorDocument(str(error_type), message, summary)
    message = _message_of(document)
    return _ErrorDocument(str(document.get("faultcode") or ""), message, message)


def _message_of(document: Mapping[str, Json]) -> str:
    for key in _TEXT_KEYS:
        if isinstance(document.get(key), str):
            return str(document[key])[:MAX_MESSAGE_CHARACTERS]
    return ""


def _lowercase_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _error_of_sdk(error: Any) -> Error:
    """Return the error for an ``HttpException`` of openstacksdk."""
    message = str(error.details or error.message or error)
    return error_from_status(error.status_code, message, parse_retry_after(_headers(error)))


def _headers(error: Any) -> Mapping[str, str]:
    return getattr(error.response, "headers", None) or {}
