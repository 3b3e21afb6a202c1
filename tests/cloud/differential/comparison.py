"""The differences of two normalised records, and which of them are accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = Any
ABSENT = "<absent>"
_LONGEST_LINE = 2000
ACCEPTED = Path(__file__).parent / "data" / "accepted.yaml"


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that the services show differently.

    Attributes:
        place: the keys that lead to the value, joined by ``/``.
    """

    place: str
    heat: Json
    ours: Json

    @property
    def place_pattern(self) -> str:
        """The place without names, by which differences are grouped."""
        return re.sub(r"@[^/]*", "@*", self.place)

    def __str__(self) -> str:
        return f"{self.place}\n    heat: {_line(self.heat)}\n    ours: {_line(self.ours)}"


def _line(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text[:_LONGEST_LINE]


def compare(heat: Json, ours: Json, place: str = "") -> Iterator[Difference]:
    """Yield the innermost differences of two values."""
    if isinstance(heat, dict) and isinstance(ours, dict):
        for key in sorted({*heat, *ours}):
            inner = f"{place}/{key}" if place else key
            yield from compare(heat.get(key, ABSENT), ours.get(key, ABSENT), inner)
    elif isinstance(heat, list) and isinstance(ours, list) and len(heat) == len(ours):
        for index, (one, other) in enumerate(zip(heat, ours, strict=True)):
            yield from compare(one, other, f"{place}/{index}")
    elif heat != ours or type(heat) is not type(ours):
        yield Difference(place, heat, ours)


@dataclass(frozen=True, slots=True)
class AcceptedDifference:
    """A rule for differences that stay; ``reason`` is a heading of docs/reference/differences.rst.

    Attributes:
        place, story, heat, ours: patterns of what must match.
        longer: our text begins with Heat's.
    """

    reason: str
    place: str = ""
    story: str = ""
    heat: str = ""
    ours: str = ""
    longer: bool = False

    def covers(self, story: str, difference: Difference) -> bool:
        """Return whether the rule accepts a difference of a story."""
        heat, ours = _line(difference.heat), _line(difference.ours)
        if self.longer and not (ours.startswith(heat) and len(ours) > len(heat)):
            return False
        pairs = ((self.place, difference.place), (self.story, story),
                 (self.heat, heat), (self.ours, ours))  # fmt: skip
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in pairs if pattern)


def load_accepted(path: Path = ACCEPTED) -> list[AcceptedDifference]:
    """Return the rules of a file."""
    return [AcceptedDifference(**each) for each in yaml.safe_load(path.read_text()) or []]


def unaccepted(
    story: str, differences: Sequence[Difference], rules: Sequence[AcceptedDifference]
) -> list[Difference]:
    """Return the differences that no rule covers."""
    return [each for each in differences if not any(rule.covers(story, each) for rule in rules)]
