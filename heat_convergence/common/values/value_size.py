"""The memory that JSON values take, and a cache that is bounded in bytes.

Called where processes keep what users send.  The length of a text tells little of it: an empty map
takes three characters of a template and 64 bytes of memory.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

Json = Any
Value = TypeVar("Value")


def value_bytes(value: Json) -> int:
    """Return the approximate number of bytes of a value with all its members.

    A member that occurs several times, as YAML's aliases make it, counts once.
    """
    measured: dict[int, Json] = {}  # by identity
    level = {id(value): value}
    while level:
        measured |= level
        level = {
            id(member): member
            for part in level.values()
            for member in _members(part)
            if id(member) not in measured
        }
    return sum(map(sys.getsizeof, measured.values()))


def _members(part: Json) -> Iterable[Json]:
    if isinstance(part, dict):
        return (*part, *part.values())
    return part if isinstance(part, list | tuple) else ()


class SizedCache(Generic[Value]):
    """A cache that drops the least recently used values beyond a number of bytes. Thread-safe.

    A value that is larger by itself is kept until another one is added.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.size_bytes = 0  # approximate

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._values)

    def get(self, key: Hashable) -> Value | None:
        """Return a value, None if it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value, size_bytes: int) -> None:
        """Keep a value that takes so many bytes."""
        with self._lock:
            self.size_bytes += size_bytes - self._values.pop(key, (None, 0))[1]
            self._values[key] = (value, size_bytes)
            while self.size_bytes > self._max_bytes and len(self._values) > 1:
                _key, (_value, dropped_bytes) = self._values.popitem(last=False)
                self.size_bytes -= dropped_bytes
