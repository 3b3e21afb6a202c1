"""The latency of every request by route and status, for the daemon's metrics.

Stands around everything else. The route is a path of the routes table, never one with names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from heat_convergence.api.middleware.access_log import BodyWithEnd
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common import metrics

# The list under it survives middlewares that pass on a copy of the environment.
_ROUTE_KEY = "heat_convergence.metrics_route"
_OTHER = "other"  # health checks, versions, unknown paths
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class RequestMetrics:
    """WSGI middleware that observes a request when its response has been sent."""

    def __init__(
        self, application: WsgiApplication, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._application = application
        self._timer = timer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request and observe it."""
        started_s, status = self._timer(), ""
        route = environ[_ROUTE_KEY] = [_OTHER]
        method = environ.get("REQUEST_METHOD", "")

        def start(line: str, *rest: Any) -> Any:
            nonlocal status
            status = line.partition(" ")[0]
            return start_response(line, *rest)

        def observe() -> None:
            labels = (method if method in _METHODS else _OTHER, route[0], status)
            duration_s = self._timer() - started_s
            metrics.API_REQUEST_SECONDS.labels(*labels).observe(duration_s)

        return BodyWithEnd(self._application(environ, start), observe)


def set_route(environ: dict[str, Any], path: str) -> None:
    """Name the route of a request, once it is known."""
    route = environ.get(_ROUTE_KEY)
    if route is not None:
        route[0] = path
