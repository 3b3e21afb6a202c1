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
    """Future events ordered by time; ``now`` is the simulated clock.

    Attributes:
        elapsed_s: Seconds since the start of the simulation; set by the queue alone.
    """

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self._now, self._now_at_s = SIMULATION_START, 0.0
        self._queue: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """Return the simulated time of day."""
        if self._now_at_s != self.elapsed_s:
            self._now_at_s = self.elapsed_s
            self._now = SIMULATION_START + timedelta(seconds=self.elapsed_s)
        return self._now

    def schedule_after(self, seconds: float, callback: Callback) -> None:
        """Run the callback after a delay; a negative delay counts as none."""
        self.schedule_at(self.elapsed_s + max(0.0, seconds), callback)

    def schedule_at(self, at_s: float, callback: Callback) -> None:
        """Run the callback at a time in seconds; a time in the past means now."""
        entry = (max(at_s, self.elapsed_s), next(self._order), callback)
        heapq.heappush(self._queue, entry)

    def next_event_s(self) -> float | None:
        """Return the time of the next event, or None if the queue is empty."""
        return self._queue[0][0] if self._queue else None

    def next_sequence_number(self) -> int:
        """Return a number larger than all earlier ones."""
        return next(self._order)

    def run_next(self) -> None:
        """Advance the clock to the next event and run it."""
        self.elapsed_s, _order, callback = heapq.heappop(self._queue)
        callback()

    def advance_to(self, until_s: float) -> None:
        """Advance the clock without running any event."""
        self.elapsed_s = max(self.elapsed_s, until_s)
