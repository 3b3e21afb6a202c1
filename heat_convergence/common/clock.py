"""The wall clock as a function that is passed as an argument.

Code that needs the time takes a ``Clock``; the simulator passes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)
