"""The observer's bus, whose messages name the request that caused them.

Used by ``observer``, whose timer sends messages without a request of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.common.telemetry.request_contexts import StackRequests, current_request
from heat_convergence.convergence.ports.bus import Bus


class ResumingBus:
    """``convergence.ports.bus.Bus`` that resumes the last request about the stack of a message.

    A request for which the thread works already goes first: it is the cause of the message.
    """

    def __init__(self, inner: Bus, requests: StackRequests) -> None:
        self._inner = inner
        self._requests = requests

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask an engine to run the jobs of these resources."""
        with self._requests.resumed(*self._unless_current(stack_id)):
            self._inner.converge(stack_id, version, resource_ids)

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask an observer to look at these resources."""
        with self._requests.resumed(*self._unless_current(stack_id)):
            self._inner.observe(stack_id, version, resource_ids)

    def _unless_current(self, stack_id: str) -> tuple[str, ...]:
        return (stack_id,) if current_request() is None else ()
