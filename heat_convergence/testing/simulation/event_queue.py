"""Simulated time: a clock and a queue of future events.

Used by the simulated environment alone.  Time advances only when no event is due now;
events with equal times run in the order in which they were scheduled.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

SIMULATION_START = datetime(2026, 1, 1, tzinfo=UTC)

Callback = Callable[[], None]


class EventQueue:
    """Future events ordered by time; ``now`` is the simulated clock."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0
        self._queue: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the simulation."""
        return self._elapsed_s

    def now(self) -> datetime:
        """Return the simulated time of day."""
        return SIMULATION_START + timedelta(seconds=self._elapsed_s)

    def schedule_after(self, seconds: float, callback: Callback) -> None:
        """Run the callback after a delay; a negative delay counts as none."""
        self.schedule_at(self._elapsed_s + max(0.0, seconds), callback)

    def schedule_at(self, at_s: float, callback: Callback) -> None:
        """Run the callback at a time in seconds; a time in the past means now."""
        entry = (max(at_s, self._elapsed_s), next(self._order), callback)
        heapq.heappush(self._queue, entry)

    def next_event_s(self) -> float | None:
        """Return the time of the next event, or None if the queue is empty."""
        return self._queue[0][0] if self._queue else None

    def next_sequence_number(self) -> int:
        """Return a number larger than all earlier ones."""
        return next(self._order)

    def run_next(self) -> None:
        """Advance the clock to the next event and run it."""
        self._elapsed_s, _order, callback = heapq.heappop(self._queue)
        callback()

    def advance_to(self, until_s: float) -> None:
        """Advance the clock without running any event."""
        self._elapsed_s = max(self._elapsed_s, until_s)
