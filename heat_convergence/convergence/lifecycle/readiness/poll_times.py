"""The time of a resource's next observation, on a grid that all stacks share.

Called by whoever records an observation or the outcome of a call, however long either took:
resources of one type whose times fall on one grid are due together, so that one list call shows
them all. Must not decide the grid.
"""

from __future__ import annotations

from datetime import datetime, timedelta


def poll_time(now: datetime, after_s: float | None, grid_s: float | None) -> datetime | None:
    """Return the next time of the grid after a pause.

    Args:
        now: The time at which it is recorded.
        after_s: The least pause in seconds; None if the resource is not polled.
        grid_s: The seconds between two times of the grid; None for any time.
    """
    if after_s is None:
        return None
    at = now + timedelta(seconds=after_s)
    if not grid_s:
        return at
    return at + timedelta(seconds=-at.timestamp() % grid_s)
