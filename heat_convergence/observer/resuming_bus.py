"""The observer's bus, whose messages name the request that caused them.

Used by ``observer``, whose timer sends messages without a request of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.common.telemetry.request_contexts import StackRequests, current_request
from heat_convergence.convergence.ports.bus import Bus, ResourceHint


class ResumingBus:
    """``convergence.ports.bus.Bus`` that resumes the last request about the stacks of a message.

    A request for which the thread works already goes first: it is the cause of the message.
    """

    def __init__(self, inner: Bus, requests: StackRequests) -> None:
        self._inner = inner
        self._requests = requests

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Ask an engine to run the jobs of resources."""
        with self._requests.resumed(*self._unless_current(hints)):
            self._inner.converge(hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Ask an observer to look at resources."""
        with self._requests.resumed(*self._unless_current(hints)):
            self._inner.observe(hints)

    def _unless_current(self, hints: Sequence[ResourceHint]) -> tuple[str, ...]:
        named = tuple(hint.stack_id for hint in hints)
        return named if current_request() is None else ()
