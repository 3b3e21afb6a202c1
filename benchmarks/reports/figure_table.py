"""The table of figures and goals, from the values that ``benchmarks.figures`` has measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.reports.tables import number, simple_table

_DASH = "–"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    Attributes:
        work: what is measured, in words.
        key: of the measured value.
        before: the value that the goal was set at.
        goal: the bound, in the unit.
        unit: of value and goal.
        is_maximum: whether a good value is below the goal.
        heat: Heat's value, where there is one.
    """

    work: str
    key: str
    before: str
    goal: float
    unit: str
    is_maximum: bool = True
    heat: str = _DASH

    def is_met(self, value: float) -> bool:
        """Return whether a measured value reaches the goal."""
        return value <= self.goal if self.is_maximum else value >= self.goal


def _rate(work: str, key: str, before: str, goal: float, heat: str = _DASH) -> Figure:
    return Figure(work, key, before, goal, "/s", is_maximum=False, heat=heat)


FIGURES = (
    Figure("chain of 200, a link", "chain:200 create ms/link", "20 ms", 6, "ms", heat="69 ms"),
    _rate("wide 1,000", "wide:1000 create per s", "770 /s", 1200, "4.7 /s (of 200)"),
    _rate("wide 10,000", "wide:10000 create per s", "660 /s", 1200),
    _rate("wide 100,000", "wide:100000 create per s", _DASH, 1000),
    Figure("layered 20 × 25", "layered:20x25 create s", "1.2 s", 0.6, "s", heat="98 s as shipped"),
    Figure("20 stacks of 10 at once", "small:20 create s", "1.3 s", 0.4, "s", heat="20 s"),
    Figure("tree 100 × 10", "tree:100x10 create s", "16.7 s", 2, "s"),
    Figure("one change in 100,000", "wide:100000 change-one s", _DASH, 2, "s"),
    Figure("… jobs", "wide:100000 change-one jobs", _DASH, 1, "jobs"),
    Figure("no-op update of 100,000", "wide:100000 no-op s", _DASH, 10, "s"),
    Figure("… jobs", "wide:100000 no-op jobs", _DASH, 0, "jobs"),
    Figure("1,000,000 in one tree", "tree:100x100x100 create s", _DASH, float("inf"), "s"),
    Figure("100,000: stack, p99", "wide:100000 read stack p99 ms", _DASH, 100, "ms"),
    Figure("100,000: resource, p99", "wide:100000 read resource p99 ms", _DASH, 100, "ms"),
    Figure("100,000: output, p99", "wide:100000 read output p99 ms", _DASH, 100, "ms"),
    Figure("100,000: API memory", "wide:100000 create api MB", "505 MB at 40,000", 200, "MB"),
    Figure("100,000: engine memory", "wide:100000 create engine MB", _DASH, 130, "MB"),
    Figure("100,000: observer memory", "wide:100000 create observer MB", _DASH, 130, "MB"),
    _rate("500 creates of 10, 100 clients", "clients per s", "150 /s", 600),
    Figure("… accepted, p99", "clients accept p99 ms", _DASH, 1000, "ms"),
    Figure("list of 10,000 stacks, p99", "list p99 ms", _DASH, 100, "ms"),
    Figure("… a page of 20, p99", "list page p99 ms", _DASH, 100, "ms"),
    Figure("idle, of one core", "idle processor percent", "3 to 4.5 %", 1, "%"),
    Figure("idle engine worker", "idle engine MB", _DASH, 100, "MB"),
    Figure("idle observer worker", "idle observer MB", _DASH, 100, "MB"),
)


def figure_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, with a dash for what was not measured.

    The values of a trial with smaller counts are marked, and judged by no goal.
    """
    measured = {row["key"]: row for row in rows}
    return simple_table(
        ["work", "before", "at least", "measured", "reached", "Heat"],
        [_cells(figure, measured.get(figure.key)) for figure in FIGURES],
    )


def _cells(figure: Figure, row: Mapping[str, Any] | None) -> list[str]:
    goal = "completes" if figure.goal == float("inf") else number(figure.goal, figure.unit)
    return [figure.work, figure.before, goal, *_measured_cells(figure, row), figure.heat]


def _measured_cells(figure: Figure, row: Mapping[str, Any] | None) -> tuple[str, str]:
    if row is None:
        return _DASH, _DASH
    text = number(row["value"], figure.unit)
    if row["divisor"] != 1:
        return f"{text} (1/{row['divisor']} of it)", _DASH
    return text, "yes" if figure.is_met(row["value"]) else "no"
