"""A bus whose failures concern nobody: a message is a hint (RULE 1, RULE 11).

Used by the API, the engines and the observers, which send after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.convergence.ports.bus import Bus


class ContainedBus:
    """``convergence.ports.bus.Bus`` that never raises: a sweep repeats what was not sent."""

    def __init__(self, inner: Bus, errors: ErrorLog) -> None:
        self._inner = inner
        self._boundary = ErrorBoundary(BoundaryName.MESSAGE, errors)

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask any engine to run the posted jobs of these resources."""
        self._send(partial(self._inner.converge, stack_id, version, resource_ids), stack_id)

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask any observer to look at these resources."""
        self._send(partial(self._inner.observe, stack_id, version, resource_ids), stack_id)

    def _send(self, send: Callable[[], None], stack_id: str) -> None:
        self._boundary.contain(send, ErrorSubject(stack_id))
