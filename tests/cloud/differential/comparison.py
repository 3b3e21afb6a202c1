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

    @property
    def step(self) -> int:
        """The number of the step, with which the place begins."""
        return int(self.place.split(" ", 1)[0])

    @property
    def line(self) -> str:
        """Place and values as one text, by which a rule recognises the cause of another one."""
        return f"{self.place} | {_line(self.heat)} | {_line(self.ours)}"

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
class FoundDifferences:
    """The differences of a story.

    Attributes:
        story: its name.
        states: what both services show after each step.
    """

    story: str
    differences: Sequence[Difference]
    states: Sequence[str] = ()

    def state_at(self, step: int) -> str:
        """Return what both services show after a step."""
        return self.states[step - 1] if step <= len(self.states) else ""


@dataclass(frozen=True, slots=True)
class AcceptedDifference:
    """A rule for differences that stay; ``reason`` is a heading of docs/reference/differences.rst.

    Attributes:
        place, story, heat, ours: patterns of what must match.
        longer: our text begins with Heat's.
        cause: a pattern of the line of a difference in the same or an earlier step, without which
            the rule does not hold.
        state: a pattern of what both services show after the step (``stack_state``).

    In ``cause`` and ``state`` ``{step}`` is the number of the step, and ``{name}`` the group
    ``name`` of ``place``.
    """

    reason: str
    place: str = ""
    story: str = ""
    heat: str = ""
    ours: str = ""
    longer: bool = False
    cause: str = ""
    state: str = ""

    def covers(self, difference: Difference, found: FoundDifferences) -> bool:
        """Return whether the rule accepts one of the differences of a story."""
        heat, ours = _line(difference.heat), _line(difference.ours)
        if self.longer and not (ours.startswith(heat) and len(ours) > len(heat)):
            return False
        state = self._fill(self.state, difference)
        pairs = ((self.place, difference.place), (self.story, found.story),
                 (self.heat, heat), (self.ours, ours),
                 (state, found.state_at(difference.step)))  # fmt: skip
        fits = all(re.search(pattern, text, re.DOTALL) for pattern, text in pairs if pattern)
        return fits and (not self.cause or self._has_cause(difference, found))

    def _has_cause(self, difference: Difference, found: FoundDifferences) -> bool:
        pattern = self._fill(self.cause, difference)
        return any(
            re.search(pattern, each.line)
            for each in found.differences
            if each is not difference and each.step <= difference.step
        )

    def _fill(self, pattern: str, difference: Difference) -> str:
        """Replace ``{step}`` and the names of the place's groups in braces."""
        match = re.search(self.place, difference.place, re.DOTALL)
        groups = match.groupdict("") if match else {}
        for name, text in {**groups, "step": str(difference.step)}.items():
            pattern = pattern.replace(f"{{{name}}}", re.escape(text))
        return pattern


def load_accepted(path: Path = ACCEPTED) -> list[AcceptedDifference]:
    """Return the rules of a file."""
    return [AcceptedDifference(**each) for each in yaml.safe_load(path.read_text()) or []]


def unaccepted(found: FoundDifferences, rules: Sequence[AcceptedDifference]) -> list[Difference]:
    """Return the differences that no rule covers."""
    return [
        each for each in found.differences if not any(rule.covers(each, found) for rule in rules)
    ]
