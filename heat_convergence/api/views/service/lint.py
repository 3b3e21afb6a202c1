"""Findings of the linter as clients read them.

Pure functions of what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.lint.finding import LintFinding

Json = Any
MAX_FINDINGS = 1000


def format_findings(found: Sequence[LintFinding], *, has_lines: bool) -> dict[str, Json]:
    """Return the first findings and the number of all.

    Args:
        found: In the order of their places.
        has_lines: Whether the places are those of the request's text.
    """
    shown = [_format_finding(each, has_lines=has_lines) for each in found[:MAX_FINDINGS]]
    return {"findings": shown, "count": len(found)}


def _format_finding(finding: LintFinding, *, has_lines: bool) -> dict[str, Json]:
    return {
        "rule": finding.rule.id,
        "severity": finding.rule.severity.value,
        "title": finding.rule.title,
        "line": finding.line if has_lines else None,
        "column": finding.column if has_lines else None,
        "message": finding.message,
        "remedy": finding.rule.remedy,
    }
