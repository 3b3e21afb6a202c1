"""Time-ordered identifiers (UUID version 7, RFC 9562), made by the program.

Called by whatever creates a row.  Randomness and time arrive as arguments, so
that the simulator's identifiers are the same in every replay.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime

IdFactory = Callable[[], str]


def build_uuid7(unix_ms: int, random_bits: int) -> str:
    """A version 7 UUID from 48 bits of milliseconds and 74 random bits."""
    value = (unix_ms & (2**48 - 1)) << 80
    value |= 0x7 << 76
    value |= ((random_bits >> 62) & 0xFFF) << 64
    value |= 0b10 << 62
    value |= random_bits & (2**62 - 1)
    return str(uuid.UUID(int=value))


class IdGenerator:
    """Makes identifiers that sort in the order of their making in one process.

    The 12 bits after the time count within a millisecond and borrow from the
    next one when they run over.
    """

    def __init__(self, now: Callable[[], datetime], rng: random.Random) -> None:
        self._now = now
        self._rng = rng
        self._last = 0  # milliseconds * 4096 + count

    def __call__(self) -> str:
        stamp = int(self._now().timestamp() * 1000) << 12
        self._last = max(stamp, self._last + 1)
        tail = self._rng.getrandbits(62)
        return build_uuid7(self._last >> 12, ((self._last & 0xFFF) << 62) | tail)


def short_suffix(identifier: str) -> str:
    """Twelve characters that tell one incarnation's physical name from another's.

    They are taken from the random end, as the front of a time-ordered
    identifier is the same for everything made in the same second.
    """
    return identifier.replace("-", "")[-12:]
