"""The page of the job state machine, generated from its table of transitions.

Called by the test that compares ``docs/reference/job-states.rst`` with it, and as
``python -m heat_convergence.testing.job_state_page`` to write that page.
Must not state anything that the table does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.transition_rules import (
    OWNED_COLUMNS,
    RULES,
    TransitionRule,
)

_NO_JOB = "no job"
_INTRODUCTION = """\
.. Generated from heat_convergence/convergence/model/transition_rules.py:
   python -m heat_convergence.testing.job_state_page > docs/reference/job-states.rst

The states of a job
===================

A traversal gives a resource at most one job.  The job's state is a column of the
resource; only the transitions below change it, and each sets all columns that it
owns.  A store accepts no other write to these columns: {columns}.
"""


def render_page() -> str:
    """Return the page as reStructuredText."""
    moving = [rule for rule in RULES if not rule.keeps_state]
    staying = [rule for rule in RULES if rule.keeps_state]
    columns = ", ".join(f"``{name}``" for name in sorted(OWNED_COLUMNS))
    parts = [
        _INTRODUCTION.format(columns=columns),
        _section("State diagram", _diagram(moving)),
        _section("Transitions between states", _table(moving)),
        _section("Transitions within a state", _table(staying)),
    ]
    return "\n".join(parts)


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n\n{body}"


def _diagram(rules: Sequence[TransitionRule]) -> str:
    """Return the arrows that leave each state, as a literal block."""
    width = max(len(rule.name) for rule in rules)
    general = [rule for rule in rules if _starts_anywhere(rule)]
    groups = [("any state with a job", general)]
    groups += [
        (_name(state), [rule for rule in rules if state in rule.sources and rule not in general])
        for state in JobState
    ]
    groups.append((_NO_JOB, [rule for rule in rules if None in rule.sources]))
    lines = ["::", ""]
    for title, leaving in groups:
        lines.append(f"    {title}")
        for rule in leaving:
            arrow = f"{rule.name} ".ljust(width + 2, "-")
            lines.append(f"      {arrow}-> {_name(rule.target)}")
        lines.append("")
    return "\n".join(lines)


def _starts_anywhere(rule: TransitionRule) -> bool:
    return rule.sources >= frozenset(JobState)


def _table(rules: Sequence[TransitionRule]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    lines += _row(("Transition", "From", "To", "Columns set", "When"))
    for rule in rules:
        target = "the same state" if rule.keeps_state else _name(rule.target)
        columns = ", ".join(f"``{name}``" for name in sorted(rule.columns))
        lines += _row((rule.name, _sources(rule), target, columns, rule.purpose))
    return "\n".join((*lines, ""))


def _row(cells: Iterable[str]) -> list[str]:
    first, *rest = cells
    return [f"   * - {first}", *(f"     - {cell}" for cell in rest)]


def _sources(rule: TransitionRule) -> str:
    if _starts_anywhere(rule):
        return "any state" if None in rule.sources else "any state with a job"
    return ", ".join(_name(state) for state in (None, *JobState) if state in rule.sources)


def _name(state: JobState | None) -> str:
    return _NO_JOB if state is None else state.name.lower().replace("_", " ")


if __name__ == "__main__":
    print(render_page(), end="")
