"""The interval between observations of an object that its service is working on.

Decides an interval that grows with the action's age. Observations fall on a grid of whole
intervals, so that resources of all stacks are due together and one list call serves them all.
While many objects are on their way, most lists would tell of one or two that are ready: the
interval is longer until few are left, whose end is that of all.
"""

from __future__ import annotations

from datetime import datetime

# (age of the action in seconds up to which the interval applies, interval in seconds)
POLL_INTERVALS = ((15.0, 1.0), (60.0, 2.0), (300.0, 5.0))
MAX_INTERVAL_S = 15.0
MIN_INTERVAL_FRACTION = 0.5  # an observation is at least this part of an interval away
FEW = 2  # objects of a type on their way in a project
INTERVALS_OF_MANY = ((15.0, 2.0), (60.0, 5.0), (300.0, 10.0))


def next_poll_s(started_at: datetime, now: datetime, busy: int = 1) -> float:
    """Return the seconds until the next point of the grid.

    Args:
        started_at: The time at which the action started.
        now: The current time.
        busy: The number of objects that are on their way together.
    """
    age_s = (now - started_at).total_seconds()
    intervals = INTERVALS_OF_MANY if busy > FEW else POLL_INTERVALS
    interval_s = next(
        (interval for max_age, interval in intervals if age_s < max_age), MAX_INTERVAL_S
    )
    left_s = interval_s - now.timestamp() % interval_s
    return left_s if left_s >= MIN_INTERVAL_FRACTION * interval_s else left_s + interval_s
