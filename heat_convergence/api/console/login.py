"""The login of the console: ``POST /console/tokens``, which asks Keystone for a token.

Keystone has an address of its own, which the page may not call. Decides how often logins may fail
and how many may be under way; stores nothing. ADR 13 has the reasons.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict

import webob

from heat_convergence.api.http import json_response
from heat_convergence.api.middleware.faults import error_response
from heat_convergence.api.requests.login import parse_login
from heat_convergence.api.services import LogIn
from heat_convergence.clients.login.user_login import LoginRefused
from heat_convergence.common import errors
from heat_convergence.common.strict_json import parse_json

_MAX_BODY_BYTES = 16 * 1024
_MAX_UNDER_WAY = 4
_MAX_FAILURES = 10
_FAILURE_WINDOW_S = 60.0
_MAX_ADDRESSES = 10_000
_OWN_SITES = frozenset({"same-origin", "none"})


class FailedLogins:
    """The times of failed logins by address, for a minute."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def is_blocked(self, address: str) -> bool:
        """Return whether too many logins from an address have failed."""
        with self._lock:
            times = self._times.get(address, deque())
            while times and times[0] <= self._monotonic() - _FAILURE_WINDOW_S:
                times.popleft()
            return len(times) >= _MAX_FAILURES

    def add(self, address: str) -> None:
        """Record a failed login."""
        with self._lock:
            times = self._times.pop(address, deque(maxlen=_MAX_FAILURES))
            times.append(self._monotonic())
            self._times[address] = times
            if len(self._times) > _MAX_ADDRESSES:
                self._times.popitem(last=False)


class LoginEndpoint:
    """The handler of logins."""

    def __init__(self, log_in: LogIn, failed: FailedLogins | None = None) -> None:
        self._log_in = log_in
        self._failed = failed or FailedLogins()
        self._under_way = threading.BoundedSemaphore(_MAX_UNDER_WAY)

    def respond(self, request: webob.Request) -> webob.Response:
        """Return a token, or 401, 429 or 400."""
        if request.method != "POST":
            return webob.Response(status=405, allow=["POST"])
        if request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES:
            raise errors.HTTPForbidden("The request comes from a page of another site.")
        login = parse_login(_read_body(request))
        address = request.environ.get("REMOTE_ADDR") or ""
        if self._failed.is_blocked(address) or not self._under_way.acquire(blocking=False):
            return _too_many_response()
        try:
            granted = self._log_in(login)
        except LoginRefused as error:
            self._failed.add(address)
            return error_response(401, "Unauthorized", str(error))
        finally:
            self._under_way.release()
        response = json_response(asdict(granted))
        response.headers["Cache-Control"] = "no-store"
        return response


def _too_many_response() -> webob.Response:
    response = error_response(429, "TooManyLogins", "Too many logins. Please try again later.")
    response.retry_after = 30
    return response


def _read_body(request: webob.Request) -> dict[str, object]:
    # Of this type, which no page of another site may send without being asked about it.
    if request.content_type != "application/json":
        raise errors.HTTPBadRequest("The body of a login must be application/json.")
    if request.content_length is None or request.content_length > _MAX_BODY_BYTES:
        raise errors.HTTPBadRequest(f"The body of a login has at most {_MAX_BODY_BYTES} bytes.")
    try:
        document = parse_json(request.body.decode())
    except (OSError, RecursionError, ValueError) as error:
        raise errors.HTTPBadRequest("The body of a login must be a JSON object.") from error
    if not isinstance(document, dict):
        raise errors.HTTPBadRequest("The body of a login must be a JSON object.")
    return document
