"""Findings of the linter, and the comments in templates that switch rules off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from heat_convergence.lint.rules import LintRule

_COMMENT = re.compile(r"#\s*lint:\s*disable\s*=\s*([A-Z]\d{3}(?:\s*,\s*[A-Z]\d{3})*)")


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One mistake, or one piece of advice, at a place in a file.

    Attributes:
        file: The file, as the user named it.
        line: The line, from 1.
        column: The column, from 1.
        rule: The rule that is broken.
        message: The text for the user.
    """

    file: str
    line: int
    column: int
    rule: LintRule
    message: str

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order in which findings are shown: by place, then by rule."""
        return self.file, self.line, self.column, self.rule.id, self.message


class DisabledRules:
    """The rules that comments of one file switch off.

    ``# lint: disable=W201`` at the end of a line counts for that line; on a line of its own it
    counts for the whole file.
    """

    def __init__(self, text: str) -> None:
        self._of_file: set[str] = set()
        self._of_line: dict[int, set[str]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            found = _COMMENT.search(line)
            if found is None:
                continue
            names = {name.strip() for name in found[1].split(",")}
            is_own_line = not line[: found.start()].strip()
            target = self._of_file if is_own_line else self._of_line.setdefault(number, set())
            target |= names

    def without_disabled(self, findings: Iterable[LintFinding]) -> list[LintFinding]:
        """Return the findings whose rules are on."""
        return [
            each
            for each in findings
            if each.rule.id not in self._of_file
            and each.rule.id not in self._of_line.get(each.line, ())
        ]
