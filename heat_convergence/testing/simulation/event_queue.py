"""Simulated time: a clock, and what is to happen when.

Used by the simulator's world alone.  Time passes only when nothing else is left to
be done now; equal times go in the order in which they were asked for.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

SIMULATION_START = datetime(2026, 1, 1, tzinfo=UTC)

Callback = Callable[[], None]


class EventQueue:
    """What is to happen, in the order of time; ``now`` is its clock."""

    def __init__(self) -> None:
        self._at_s = 0.0
        self._queue: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the simulated world began."""
        return self._at_s

    def now(self) -> datetime:
        return SIMULATION_START + timedelta(seconds=self._at_s)

    def schedule_after(self, seconds: float, happening: Callback) -> None:
        self.schedule_at(self._at_s + max(0.0, seconds), happening)

    def schedule_at(self, at_s: float, happening: Callback) -> None:
        entry = (max(at_s, self._at_s), next(self._order), happening)
        heapq.heappush(self._queue, entry)

    def next_event_s(self) -> float | None:
        return self._queue[0][0] if self._queue else None

    def next_sequence_number(self) -> int:
        """A number larger than all before it."""
        return next(self._order)

    def run_next(self) -> None:
        """Lets the next thing happen."""
        self._at_s, _order, happening = heapq.heappop(self._queue)
        happening()

    def advance_to(self, until_s: float) -> None:
        """Nothing happens until then."""
        self._at_s = max(self._at_s, until_s)
