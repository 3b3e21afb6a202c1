"""A limit on the time that calls to services may take together.

Set around work that must end, such as an observation; read by the clients before each request.
It ends no call that does not read it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float | None] = ContextVar("heat_convergence_deadline", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the requests of this thread, inside the block, to a time in seconds."""
    outer, deadline = _DEADLINE.get(), time.monotonic() + seconds
    token = _DEADLINE.set(deadline if outer is None else min(outer, deadline))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def remaining_s() -> float | None:
    """Return the seconds that are left, perhaps less than 0; None without a limit."""
    deadline = _DEADLINE.get()
    return None if deadline is None else deadline - time.monotonic()


def is_over() -> bool:
    """Return whether a limit has been reached."""
    left_s = remaining_s()
    return left_s is not None and left_s <= 0
