"""The refusal of requests while a process has more than it can handle.

The HTTP servers of ``cli`` mark such requests, since they alone know how many wait. The refusal
is made here, so that it has the error envelope, a request id and a line in the access log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common.failures import Unavailable

OVERLOADED_KEY = "heat_convergence.overloaded"
HEALTHCHECK_PATH = "/healthcheck"


def is_always_served(path: str) -> bool:
    """Return whether a path is served however many requests are at work."""
    return path == HEALTHCHECK_PATH


class OverloadRefusal:
    """WSGI middleware that refuses the requests that its server has marked."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request, or refuse it with 503 and ``Retry-After``."""
        if environ.get(OVERLOADED_KEY):
            raise Unavailable("Too many requests are in progress. Please try again later.")
        return self._application(environ, start_response)
