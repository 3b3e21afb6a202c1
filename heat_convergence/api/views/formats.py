"""Times and states as clients read them.

Used by every view.  UTC, whole seconds, suffix ``Z``; ``ACTION_STATUS``.
"""

from __future__ import annotations

from datetime import datetime

_TO_SECONDS = len("2026-01-31T23:59:59")


def format_time(at: datetime | None) -> str | None:
    """Return a time in UTC with whole seconds, None for no time."""
    return None if at is None else f"{at.isoformat()[:_TO_SECONDS]}Z"  # quicker than strftime


def format_precise_time(at: datetime | None) -> str | None:
    """Return a time in ISO format with microseconds and without a zone."""
    return None if at is None else at.replace(tzinfo=None).isoformat(timespec="microseconds")


def format_status(action: str, status: str) -> str:
    """Return action and status as one word, such as ``CREATE_COMPLETE``."""
    return f"{action}_{status}"
