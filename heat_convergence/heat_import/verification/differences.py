"""Differences of two JSON documents, and those that every import makes.

Pure. ``known_differences`` has those that every import makes: they are counted and printed with
their reason, apart from the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
_MAX_TEXT = 200  # characters of a value that are shown


class _Absent:
    """The value of a key that only the other document has."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that the two services show differently.

    Attributes:
        path: Location in the views of the stack.
        heat: Value of Heat; ``ABSENT`` if it has none.
        own: Value of this service, likewise.
        resource_type: Type of the resource whose view it is in.
    """

    path: str
    heat: Json
    own: Json
    resource_type: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: Heat has {_shown(self.heat)}, this service {_shown(self.own)}"


def find_differences(path: str, heat: Json, own: Json) -> Iterator[Difference]:
    """Yield the differences of two values; numbers of other types that are equal are none."""
    if isinstance(heat, Mapping) and isinstance(own, Mapping):
        for name in sorted({*heat, *own}):
            place = f"{path}/{name}"
            yield from find_differences(place, heat.get(name, ABSENT), own.get(name, ABSENT))
    elif _is_list(heat) and _is_list(own) and len(heat) == len(own):
        for position, (one, other) in enumerate(zip(heat, own, strict=True)):
            yield from find_differences(f"{path}/{position}", one, other)
    elif isinstance(heat, bool) is not isinstance(own, bool) or heat != own:
        yield Difference(path, heat, own)


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Json) -> str:
    text = repr(value) if value is ABSENT else json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
