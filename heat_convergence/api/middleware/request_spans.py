"""The span of each request that the API handles, for traces.

Stands inside the middleware that makes the request id. Must not record query strings or bodies,
which may hold signatures and secrets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common.telemetry import tracing


class RequestSpans:
    """WSGI middleware that traces a request until its response has begun."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request in a span."""
        request_id = environ.get("openstack.global_request_id") or environ.get(
            "openstack.request_id"
        )
        with tracing.span(
            "API request",
            request_id,
            method=environ.get("REQUEST_METHOD", ""),
            path=environ.get("PATH_INFO", ""),
        ) as span:

            def start(line: str, *rest: Any) -> Any:
                span.record("status", line.partition(" ")[0])
                return start_response(line, *rest)

            return self._application(environ, start)
