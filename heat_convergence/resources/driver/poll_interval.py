"""The intervals between observations of objects that their services are working on.

Decides the grid of times at which objects that lists show are read, and the interval between two
reads of a single object. Lists are read each second for the first ten minutes of an action, so
that dependents start within a second; when a read takes several calls, or shows very many objects,
the interval grows with their number. What is read alone has an interval that grows with the
action's age from the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

# (age of the action in seconds up to which the interval applies, interval in seconds)
POLL_INTERVALS = ((15.0, 1.0), (60.0, 2.0), (300.0, 5.0))
MAX_INTERVAL_S = 15.0
MIN_INTERVAL_FRACTION = 0.5  # a read of one object is at least this part of an interval away
LIST_INTERVALS = ((600.0, 1.0), (1800.0, 5.0))
MIN_LIST_PAUSE_S = 0.05  # so that a list at the end of a second is not read again at once
OBJECTS_PER_SECOND = 250  # a list of more takes longer itself, and so does recording them


def next_poll_s(started_at: datetime, now: datetime) -> float:
    """Return the seconds until an object is read alone again, at a whole interval.

    Args:
        started_at: The time at which the action started.
        now: The current time.
    """
    interval_s = _interval_at_age(POLL_INTERVALS, started_at, now)
    left_s = interval_s - now.timestamp() % interval_s
    return left_s if left_s >= MIN_INTERVAL_FRACTION * interval_s else left_s + interval_s


def list_interval_s(
    started_at: datetime, now: datetime, *, busy: int = 1, calls: int = 1
) -> float:
    """Return the whole seconds between two reads of an object with others of its type.

    Args:
        started_at: The time at which the action started.
        now: The current time.
        busy: The number of objects of the type and project that are on their way.
        calls: The number of calls that one read of them takes.
    """
    own_s = _interval_at_age(LIST_INTERVALS, started_at, now)
    interval_s = max(own_s, calls, math.ceil(busy / OBJECTS_PER_SECOND))
    return min(interval_s, MAX_INTERVAL_S)


def _interval_at_age(
    intervals: Sequence[tuple[float, float]], started_at: datetime, now: datetime
) -> float:
    age_s = (now - started_at).total_seconds()
    return next((interval for max_age, interval in intervals if age_s < max_age), MAX_INTERVAL_S)
