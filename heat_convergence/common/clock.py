"""The wall clock, as an argument.

Everything that needs the time takes a ``Clock``; the simulator passes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)
