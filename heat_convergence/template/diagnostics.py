"""The errors of a template, collected in one pass and reported together.

Decides which error the client receives (the first in the order of checks) and how
the others are appended to it.  Called by everything that validates.  Must not stop
at an error.

Source: docs/reference/validation.rst, "Order of checks at create" and "Error path form".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from itertools import islice

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template.evaluation_budget import current_budget
from heat_convergence.template.text_redaction import redact, sensitive_texts

SourcePath = tuple[str | int, ...]
SourcePosition = tuple[int, int]  # line and column, both from 1
PositionFinder = Callable[[Collection[SourcePath]], Mapping[SourcePath, SourcePosition]]
_MAX_HINTED_CHARS = 64
_MAX_CANDIDATES = 500


class ValidationPhase(IntEnum):
    """The phase in which a check is made; errors of an earlier phase are reported first."""

    TEMPLATE = 0
    PARAMETERS = 1
    PARAMETER_GROUPS = 2
    CONDITIONS = 3
    DEFINITIONS = 4
    FUNCTIONS = 5
    NAME_CONFLICTS = 6
    DEPENDENCIES = 7
    RESOURCES = 8
    OUTPUTS = 9


_NAMED_IN_MESSAGE = frozenset({ValidationPhase.TEMPLATE, ValidationPhase.PARAMETERS})
_PATH_LAST = frozenset(
    {ValidationPhase.DEFINITIONS, ValidationPhase.NAME_CONFLICTS, ValidationPhase.DEPENDENCIES}
)
_HINT = re.compile(r'(; d| D)id you mean "[^"]*"\?$')
ERROR_SEPARATOR = ": : "  # clients match the texts of errors with it


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error found in a template.

    Attributes:
        phase: The phase of the check that found it.
        error: The error that the client would receive for it alone.
        source_path: The path whose line and column are appended to the message.
        path: The path shown before the message; empty where clients expect none.
        prefix: A text shown before the path.
    """

    phase: ValidationPhase
    error: Error
    source_path: SourcePath
    path: SourcePath
    prefix: str


class Diagnostics:
    """A collection of errors; ``raise_if_any`` ends a validation pass."""

    def __init__(
        self,
        find_positions: PositionFinder | None = None,
        *,
        limit: int = 50,
    ) -> None:
        self._find_positions = find_positions
        self._limit = limit
        self._found: list[Diagnostic] = []
        self._reported: set[tuple[SourcePath, SourcePath, str]] = set()
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
        source_path: SourcePath | None = None,
        shows_path: bool = True,
    ) -> None:
        """Add an error at a path.

        Args:
            phase: The phase of the check.
            error: The error; a text becomes ``StackValidationFailed``.
            path: The path that clients expect in the message.
            prefix: A text shown before the path.
            source_path: The exact position in this text; None for that of ``path``.
            shows_path: Whether the path goes before the message, in phases where paths do.
        """
        if isinstance(error, str):
            error = StackValidationFailed(error)
        exact = path if source_path is None else source_path
        shown = (
            shows_path
            and type(error) is StackValidationFailed
            and phase not in _NAMED_IN_MESSAGE | _PATH_LAST
        )
        if (path, exact, error.message) not in self._reported:
            self._reported.add((path, exact, error.message))
            self._found.append(Diagnostic(phase, error, exact, path if shown else (), prefix))

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
        shown = (first, *others[: self._limit])
        secrets = sorted(self._hidden, key=len, reverse=True)
        paths = {each.source_path for each in shown if each.source_path}
        positions = self._find_positions(paths) if self._find_positions and paths else {}
        texts = [_text(each, secrets, positions.get(each.source_path)) for each in shown]
        summary = without_hint(_message(first, secrets))
        lines = [texts[0], *map(_line, shown[1:], texts[1:])]
        if len(others) > self._limit:
            lines.append(f"... and {len(others) - self._limit} more")
        first.error.message = "\n".join(lines)
        first.error.args = (first.error.message,)
        first.error.summary = summary if summary != first.error.message else ""
        raise first.error


def error_text(prefix: str, path: SourcePath, message: str) -> str:
    """Return an error's text in the form that clients match: prefix, path and message."""
    return ERROR_SEPARATOR.join(part for part in (prefix, format_path(path), message) if part)


def source_details(diagnostic: Diagnostic, position: SourcePosition | None) -> str:
    """Return an error's place in the template as far as its text does not show it."""
    if not diagnostic.source_path:
        return ""
    hidden_parts = len(diagnostic.source_path) - len(diagnostic.path)
    is_named = hidden_parts <= 1 or diagnostic.phase in _NAMED_IN_MESSAGE
    parts = [] if is_named else [f"at {format_path(diagnostic.source_path)}"]
    if position is not None:
        parts.append(f"line {position[0]}, column {position[1]}")
    return ", ".join(parts)


def _line(diagnostic: Diagnostic, text: str) -> str:
    error_type = type(diagnostic.error).__name__
    return text if error_type == StackValidationFailed.__name__ else f"{error_type}: {text}"


def _text(diagnostic: Diagnostic, secrets: Sequence[str], position: SourcePosition | None) -> str:
    text = _message(diagnostic, secrets)
    details = source_details(diagnostic, position)
    return f"{text} ({details})" if details else text


def _message(diagnostic: Diagnostic, secrets: Sequence[str]) -> str:
    message = redact(diagnostic.error.message, secrets)
    return error_text(diagnostic.prefix, diagnostic.path, message)


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
    """Return ``; did you mean "x"?`` for the nearest known name, or an empty string.

    Comparing names is slow: there are hints for the first mistakes only, and none for a name
    that is long.
    """
    text, budget = str(name), current_budget()
    if len(text) > _MAX_HINTED_CHARS or budget.hints_left <= 0:
        return ""
    budget.hints_left -= 1
    alike = (each for each in known if len(text) < 2.4 * len(each) < 5.8 * len(text))
    candidates = sorted(islice(alike, _MAX_CANDIDATES))
    matches = get_close_matches(text, candidates, n=1, cutoff=0.6)
    return f'; did you mean "{matches[0]}"?' if matches else ""


def without_hint(message: str) -> str:
    """Return a message without the hint of ``did_you_mean`` at its end."""
    return _HINT.sub("", message)


def as_sentence(hint: str) -> str:
    """Return a hint of ``did_you_mean`` as a sentence, to stand after another one."""
    return hint.replace("; did", " Did")
