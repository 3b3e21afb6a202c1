"""All mistakes of a template, found in one pass and told together.

Decides which mistake the client's error is made of (the first in the order in
which checks are made) and how the others are appended.  Called by everything
that validates; must not stop at a mistake.

Source: heat-facts ``validation.md``, "Order of checks" and "Error path form".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template.masking import masked, texts_of

Path = tuple[str | int, ...]
Position = tuple[int, int]  # line and column, both from 1


class Phase(IntEnum):
    """When a check is made; an earlier phase's mistake is told first."""

    TEMPLATE = 0
    PARAMETERS = 1
    GROUPS = 2
    CONDITIONS = 3
    DEFINITIONS = 4
    NAMES = 5
    DEPENDENCIES = 6
    RESOURCES = 7
    OUTPUTS = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake; ``label`` is what its text shows before the message, ``place``
    whose line and column are told."""

    phase: Phase
    error: Error
    place: Path
    label: str


class Problems:
    """Collects; ``raise_any`` ends a pass."""

    def __init__(
        self, position: Callable[[Path], Position | None] | None = None, *, limit: int = 50
    ) -> None:
        self._position = position
        self._limit = limit
        self._found: list[Problem] = []
        self._seen: set[tuple[Path, str]] = set()
        self._hidden: set[str] = set()

    def hide(self, values: Iterable[object]) -> None:
        """What is told shall not have these."""
        self._hidden.update(text for value in values for text in texts_of(value))

    def add(
        self,
        phase: Phase,
        error: Error | str,
        path: Path = (),
        *,
        prefix: str = "",
        within: Path = (),
        place: Path | None = None,
    ) -> None:
        """A mistake at a path; a text becomes ``StackValidationFailed``.  ``within``
        leads on to where it stands, below the path that clients expect; ``place`` is
        where that is, if the path leads out of the text."""
        if isinstance(error, str):
            error = StackValidationFailed(error)
        shown = type(error) is StackValidationFailed
        label = ": ".join(part for part in (prefix, shown and path_text(path)) if part)
        full = (*path, *within)
        if (full, error.message) not in self._seen:
            self._seen.add((full, error.message))
            self._found.append(Problem(phase, error, full if place is None else place, label))

    def __bool__(self) -> bool:
        return bool(self._found)

    def ordered(self) -> tuple[Problem, ...]:
        """What was found, in the order in which clients expect to be told."""
        return tuple(sorted(self._found, key=lambda problem: problem.phase))

    def raise_any(self) -> None:
        """Raise the first mistake's error, its text followed by the others'."""
        if not self._found:
            return
        first, *others = self.ordered()
        lines = [self._text(first)]
        lines += [self._line(problem) for problem in others[: self._limit]]
        if len(others) > self._limit:
            lines.append(f"... and {len(others) - self._limit} more")
        first.error.message = "\n".join(lines)
        first.error.args = (first.error.message,)
        raise first.error

    def _line(self, problem: Problem) -> str:
        kind = type(problem.error).__name__
        text = self._text(problem)
        return text if kind == StackValidationFailed.__name__ else f"{kind}: {text}"

    def _text(self, problem: Problem) -> str:
        message = masked(problem.error.message, self._hidden)
        text = ": ".join(part for part in (problem.label, message) if part)
        position = self._position(problem.place) if self._position and problem.place else None
        return f"{text} (line {position[0]}, column {position[1]})" if position else text


def path_text(path: Iterable[str | int]) -> str:
    """``resources.a.properties.b[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def nearest(name: object, known: Iterable[str]) -> str:
    """``; did you mean "x"?``, or nothing when no known name is near."""
    matches = get_close_matches(str(name), sorted(known), n=1, cutoff=0.6)
    return f'; did you mean "{matches[0]}"?' if matches else ""
