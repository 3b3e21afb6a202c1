"""Jumps of a host's clock, found by a comparison with the monotonic clock.

Called with each round of a worker. Leases, time limits and times of polls are compared with the
clocks of other hosts: a clock that jumps makes leases expire early or late. The service goes on,
and an operator must be able to see the cause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from heat_convergence.common.clock import Clock

LOG = logging.getLogger(__name__)
TOLERANCE_S = 2.0
"""Seconds below which a change is no jump: time synchronisation slews a clock by less."""


class ClockWatch:
    """The watch of this process.

    Args:
        clock: The wall clock.
        monotonic: A clock that no change of the wall clock moves.
    """

    def __init__(self, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._offset_s = self._read_offset_s()

    def check(self) -> None:
        """Log how far the clock has jumped since the last call, if it has."""
        before_s = self._monotonic()
        offset_s = self._read_offset_s()
        if self._monotonic() - before_s > TOLERANCE_S / 2:
            return  # this process was stalled between the two clocks
        jump_s, self._offset_s = offset_s - self._offset_s, offset_s
        if abs(jump_s) > TOLERANCE_S:
            LOG.warning(
                "clock jumped: by_s=%(by_s).1f; leases may expire early or late: check the time"
                " synchronisation of this host",
                {"by_s": jump_s},
            )

    def _read_offset_s(self) -> float:
        return self._clock().timestamp() - self._monotonic()
