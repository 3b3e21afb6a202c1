"""The time and the outcome of each call to another service, for the daemon's metrics and traces.

Called by ``clients`` around one request; must not see its content.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from heat_convergence.common import metrics
from heat_convergence.common.telemetry import tracing

NO_RESPONSE = "unreachable"


class TimedCall:
    """One call; without a recorded status there was no response."""

    def __init__(self) -> None:
        self.outcome = NO_RESPONSE

    def record_status(self, status: int) -> None:
        """Record the HTTP status of the response by its class: 2xx, 4xx, 5xx."""
        self.outcome = f"{status // 100}xx"


@contextmanager
def timed_call(service: str, method: str) -> Iterator[TimedCall]:
    """Measure the call that the block makes, also when it raises."""
    call, started_s = TimedCall(), time.monotonic()
    with tracing.span("service call", service=service, method=method) as span:
        try:
            yield call
        finally:
            labels = (service, method, call.outcome)
            metrics.CLOUD_CALL_SECONDS.labels(*labels).observe(time.monotonic() - started_s)
            span.record("outcome", call.outcome)
