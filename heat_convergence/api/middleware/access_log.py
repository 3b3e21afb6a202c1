"""The access log: one line for every request that the API has answered.

Stands around everything but the request id, so that refused requests are logged too.
Must not log query strings or bodies, which may hold signatures and secrets.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.faults import WsgiApplication

LOG = logging.getLogger(__name__)
# The list under it survives middlewares that pass on a copy of the environment.
_PROJECT_KEY = "heat_convergence.access_log_project"
_MESSAGE = (
    "request handled: method=%(method)s path=%(path)s status=%(status)s"
    " milliseconds=%(milliseconds)s request_id=%(request_id)s project=%(project)s"
)


class AccessLog:
    """WSGI middleware that logs at INFO when a response has been sent."""

    def __init__(
        self, application: WsgiApplication, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._application = application
        self._timer = timer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request and log it when its response has been sent."""
        started_s, status = self._timer(), ""
        project = environ[_PROJECT_KEY] = [""]

        def start(line: str, *rest: Any) -> Any:
            nonlocal status
            status = line.partition(" ")[0]
            return start_response(line, *rest)

        def log() -> None:
            duration_ms = round((self._timer() - started_s) * 1000)
            LOG.info(_MESSAGE, _fields(environ, status, duration_ms, project[0]))

        return BodyWithEnd(self._application(environ, start), log)


class BodyWithEnd:
    """A response's body that calls a function once: when it is sent, or closed before its end."""

    def __init__(self, body: Iterable[bytes], on_end: Callable[[], None]) -> None:
        self._body = body
        self._on_end = on_end
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body
        self._end()

    def close(self) -> None:
        """Close the body, and call the function."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()


def log_project_of_caller(environ: dict[str, Any]) -> None:
    """Add the caller's project to the line of this request, once the caller is known."""
    caller, project = environ.get(CALLER_KEY), environ.get(_PROJECT_KEY)
    if caller is not None and project is not None:
        project[0] = caller.project_id or ""


def _fields(
    environ: dict[str, Any], status: str, duration_ms: int, project: str
) -> dict[str, Any]:
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return {
        "method": environ.get("REQUEST_METHOD", ""),
        "path": quote(path, safe="/:", encoding="latin-1", errors="replace"),
        "status": status,
        "milliseconds": duration_ms,
        "request_id": environ.get("openstack.request_id", ""),
        "project": project,
    }
