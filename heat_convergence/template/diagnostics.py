"""The errors of a template, collected in one pass and reported together.

Decides which error the client receives (the first in the order of checks) and how
the others are appended to it.  Called by everything that validates.  Must not stop
at an error.

Source: docs/reference/validation.rst, "Order of checks at create" and "Error path form".
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
    """The phase in which a check is made; errors of an earlier phase are reported first."""

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
    """One error found in a template.

    Attributes:
        phase: The phase of the check that found it.
        error: The error that the client would receive for it alone.
        source_path: The path whose line and column are appended to the message.
        location: The text shown before the message.
    """

    phase: ValidationPhase
    error: Error
    source_path: SourcePath
    location: str


class Diagnostics:
    """A collection of errors; ``raise_if_any`` ends a validation pass."""

    def __init__(
        self,
        position: Callable[[SourcePath], SourcePosition | None] | None = None,
        *,
        limit: int = 50,
    ) -> None:
        self._position = position
        self._limit = limit
        self._found: list[Diagnostic] = []
        self._reported: set[tuple[SourcePath, str]] = set()
        self._hidden: set[str] = set()

    def redact_values(self, values: Iterable[object]) -> None:
        """Mask these values in every message."""
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
        """Add an error at a path.

        Args:
            phase: The phase of the check.
            error: The error; a text becomes ``StackValidationFailed``.
            path: The path that clients expect in the message.
            prefix: A text shown before the path.
            subpath: The rest of the way from ``path`` to the exact position.
            source_path: The position in this text, if ``path`` leads to another template.
        """
        if isinstance(error, str):
            error = StackValidationFailed(error)
        shown = type(error) is StackValidationFailed
        location = ": ".join(part for part in (prefix, shown and format_path(path)) if part)
        full = (*path, *subpath)
        if (full, error.message) not in self._reported:
            self._reported.add((full, error.message))
            self._found.append(
                Diagnostic(phase, error, full if source_path is None else source_path, location)
            )

    def __bool__(self) -> bool:
        return bool(self._found)

    def sorted_by_phase(self) -> tuple[Diagnostic, ...]:
        """Return the errors in the order in which clients expect them."""
        return tuple(sorted(self._found, key=lambda diagnostic: diagnostic.phase))

    def raise_if_any(self) -> None:
        """Raise the first error, with the texts of the others appended to its own."""
        if not self._found:
            return
        first, *others = self.sorted_by_phase()
        lines = [self._text(first)]
        lines += [self._line(diagnostic) for diagnostic in others[: self._limit]]
        if len(others) > self._limit:
            lines.append(f"... and {len(others) - self._limit} more")
        first.error.message = "\n".join(lines)
        first.error.args = (first.error.message,)
        raise first.error

    def _line(self, diagnostic: Diagnostic) -> str:
        error_type = type(diagnostic.error).__name__
        text = self._text(diagnostic)
        return text if error_type == StackValidationFailed.__name__ else f"{error_type}: {text}"

    def _text(self, diagnostic: Diagnostic) -> str:
        message = redact(diagnostic.error.message, self._hidden)
        text = ": ".join(part for part in (diagnostic.location, message) if part)
        position = (
            self._position(diagnostic.source_path)
            if self._position and diagnostic.source_path
            else None
        )
        return f"{text} (line {position[0]}, column {position[1]})" if position else text


def format_path(path: Iterable[str | int]) -> str:
    """Return a path in the form ``resources.a.properties.b[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the nearest known name, or an empty string."""
    matches = get_close_matches(str(name), sorted(known), n=1, cutoff=0.6)
    return f'; did you mean "{matches[0]}"?' if matches else ""
