"""Times at which groups of watched resources are read next.

Called by the watch. Groups of several projects that one list call can show are read at the same
times, so that one call serves them all; those of different lists are spread over the interval.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zlib import crc32

_EARLY = 0.25  # the share of the interval by which a group may be read before it is over


def next_read_at(
    started_at: datetime, interval_s: float, shared_key: str | None = None
) -> datetime:
    """Return when a group is read after a read that has started at a time.

    Args:
        started_at: The start of the last read.
        interval_s: Seconds between two reads.
        shared_key: Names the list that groups of other projects are read by, too; None if there
            is none. Times of one key and interval are the same for all groups: they are whole
            intervals since 1970, and a remainder.
    """
    if shared_key is None or interval_s < 1:
        return started_at + timedelta(seconds=interval_s)
    # Intervals double, so that a remainder below the shortest one is that of all of them.
    remainder_s = crc32(shared_key.encode()) % int(min(interval_s, 10.0))
    earliest_s = started_at.timestamp() + (1 - _EARLY) * interval_s
    number = math.ceil((earliest_s - remainder_s) / interval_s)
    return datetime.fromtimestamp(number * interval_s + remainder_s, UTC)
