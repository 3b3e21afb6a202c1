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
from heat_convergence.template.text_redaction import redact, sensitive_texts

SourcePath = tuple[str | int, ...]
SourcePosition = tuple[int, int]  # line and column, both from 1


class ValidationPhase(IntEnum):
    """When a check is made; an earlier phase's mistake is told first."""

    TEMPLATE = 0
    PARAMETERS = 1
    PARAMETER_GROUPS = 2
    CONDITIONS = 3
    DEFINITIONS = 4
    NAME_CONFLICTS = 5
    DEPENDENCIES = 6
    RESOURCES = 7
    OUTPUTS = 8


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake; ``label`` is what its text shows before the message, ``place``
    whose line and column are told."""

    phase: ValidationPhase
    error: Error
    source_path: SourcePath
    location: str


class Diagnostics:
    """Collects; ``raise_if_any`` ends a pass."""

    def __init__(
        self,
        position: Callable[[SourcePath], SourcePosition | None] | None = None,
        *,
        limit: int = 50,
    ) -> None:
        self._position = position
        self._limit = limit
        self._found: list[Diagnostic] = []
        self._seen: set[tuple[SourcePath, str]] = set()
        self._hidden: set[str] = set()

    def redact_values(self, values: Iterable[object]) -> None:
        """What is told shall not have these."""
        self._hidden.update(text for value in values for text in sensitive_texts(value))

    def add(
        self,
        phase: ValidationPhase,
        error: Error | str,
        path: SourcePath = (),
        *,
        prefix: str = "",
        subpath: SourcePath = (),
        source_path: SourcePath | None = None,
    ) -> None:
        """A mistake at a path; a text becomes ``StackValidationFailed``.  ``within``
        leads on to where it stands, below the path that clients expect; ``place`` is
        where that is, if the path leads out of the text."""
        if isinstance(error, str):
            error = StackValidationFailed(error)
        shown = type(error) is StackValidationFailed
        label = ": ".join(part for part in (prefix, shown and format_path(path)) if part)
        full = (*path, *subpath)
        if (full, error.message) not in self._seen:
            self._seen.add((full, error.message))
            self._found.append(
                Diagnostic(phase, error, full if source_path is None else source_path, label)
            )

    def __bool__(self) -> bool:
        return bool(self._found)

    def sorted_by_phase(self) -> tuple[Diagnostic, ...]:
        """What was found, in the order in which clients expect to be told."""
        return tuple(sorted(self._found, key=lambda problem: problem.phase))

    def raise_if_any(self) -> None:
        """Raise the first mistake's error, its text followed by the others'."""
        if not self._found:
            return
        first, *others = self.sorted_by_phase()
        lines = [self._text(first)]
        lines += [self._line(problem) for problem in others[: self._limit]]
        if len(others) > self._limit:
            lines.append(f"... and {len(others) - self._limit} more")
        first.error.message = "\n".join(lines)
        first.error.args = (first.error.message,)
        raise first.error

    def _line(self, problem: Diagnostic) -> str:
        kind = type(problem.error).__name__
        text = self._text(problem)
        return text if kind == StackValidationFailed.__name__ else f"{kind}: {text}"

    def _text(self, problem: Diagnostic) -> str:
        message = redact(problem.error.message, self._hidden)
        text = ": ".join(part for part in (problem.location, message) if part)
        position = (
            self._position(problem.source_path) if self._position and problem.source_path else None
        )
        return f"{text} (line {position[0]}, column {position[1]})" if position else text


def format_path(path: Iterable[str | int]) -> str:
    """``resources.a.property_texts.b[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """``; did you mean "x"?``, or nothing when no known name is near."""
    matches = get_close_matches(str(name), sorted(known), n=1, cutoff=0.6)
    return f'; did you mean "{matches[0]}"?' if matches else ""
