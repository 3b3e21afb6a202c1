"""Times and states as clients read them.

Used by every view.  UTC, whole seconds, suffix ``Z``; ``ACTION_STATUS``.
"""

from __future__ import annotations

from datetime import datetime


def format_time(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")


def format_precise_time(at: datetime | None) -> str | None:
    """ISO with microseconds and no zone, as services show it."""
    return None if at is None else at.replace(tzinfo=None).isoformat(timespec="microseconds")


def format_status(action: str, status: str) -> str:
    return f"{action}_{status}"
