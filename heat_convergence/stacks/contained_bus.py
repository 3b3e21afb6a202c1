"""A bus whose failures concern nobody: a message is a hint (RULE 1, RULE 11).

Used by the API, the engines and the observers, which send after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.convergence.ports.bus import Bus, ResourceHint, shown_stacks


class ContainedBus:
    """``convergence.ports.bus.Bus`` that never raises: a sweep repeats what was not sent."""

    def __init__(self, inner: Bus, errors: ErrorLog) -> None:
        self._inner = inner
        self._boundary = ErrorBoundary(BoundaryName.MESSAGE, errors)

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Ask any engine to run the posted jobs of resources."""
        self._send(self._inner.converge, hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Ask any observer to look at resources."""
        self._send(self._inner.observe, hints)

    def _send(
        self, send: Callable[[Sequence[ResourceHint]], None], hints: Sequence[ResourceHint]
    ) -> None:
        subject = ErrorSubject(shown_stacks(hints))
        self._boundary.contain(partial(send, hints), subject)
