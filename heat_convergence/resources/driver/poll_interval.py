"""How soon to look again at what a service is still working on.

Decides an interval that grows with the action's age.  Looks fall on a grid of whole
intervals, so that resources of all stacks come due together and one list call serves
them all.
"""

from __future__ import annotations

from datetime import datetime

# (age of the action in seconds below which, interval in seconds)
POLL_INTERVALS = ((15.0, 1.0), (60.0, 2.0), (300.0, 5.0))
MAX_INTERVAL_S = 15.0
MIN_INTERVAL_FRACTION = 0.5  # part of an interval that a look is at least away


def next_poll_s(started_at: datetime, now: datetime) -> float:
    """Seconds until the grid's next point."""
    age_s = (now - started_at).total_seconds()
    interval_s = next((every for below, every in POLL_INTERVALS if age_s < below), MAX_INTERVAL_S)
    left_s = interval_s - now.timestamp() % interval_s
    return left_s if left_s >= MIN_INTERVAL_FRACTION * interval_s else left_s + interval_s
