"""The latency of every request by route and status, for the daemon's metrics.

Stands around everything else. The route is a path of the routes table, never one with names; the
root controller sets it as the note, once it is known.
"""

from __future__ import annotations

from heat_convergence.api.middleware.answered_requests import (
    AnsweredRequest,
    AnsweredRequestMiddleware,
)
from heat_convergence.common import metrics

_OTHER = "other"  # health checks, versions, unknown paths
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class RequestMetrics(AnsweredRequestMiddleware):
    """WSGI middleware that counts and times requests."""

    note_key = "heat_convergence.metrics_route"
    initial_note = _OTHER

    def observe(self, request: AnsweredRequest) -> None:
        """Add the request to the histogram of its route."""
        method = request.environ.get("REQUEST_METHOD", "")
        labels = (method if method in _METHODS else _OTHER, request.note, request.status)
        metrics.API_REQUEST_SECONDS.labels(*labels).observe(request.duration_s)
