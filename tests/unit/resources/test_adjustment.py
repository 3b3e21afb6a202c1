"""How many members a group is to have: heat-facts ``resource_groups.md``."""

from __future__ import annotations

import pytest

from heat_convergence.resources.adjustment import Adjustment, Bounds, Kind

WIDE = Bounds(0, 1000)


@pytest.mark.parametrize(
    ("kind", "amount", "step", "current", "size"),
    [
        (Kind.CHANGE, 2, None, 3, 5),
        (Kind.CHANGE, -2, None, 3, 1),
        (Kind.CHANGE, 1.9, None, 3, 4),
        (Kind.EXACT, 7, None, 3, 7),
        (Kind.EXACT, 0, None, 3, 0),
        (Kind.PERCENT, 50, None, 4, 6),
        (Kind.PERCENT, 50, None, 5, 7),  # 2.5 towards zero
        (Kind.PERCENT, -50, None, 5, 3),
        (Kind.PERCENT, 10, None, 3, 4),  # less than one counts as one
        (Kind.PERCENT, -10, None, 3, 2),
        (Kind.PERCENT, 10, None, 0, 0),
        (Kind.PERCENT, 0, 3, 10, 10),
        (Kind.PERCENT, 10, 3, 10, 13),
        (Kind.PERCENT, -10, 3, 10, 7),
        (Kind.PERCENT, 50, 3, 10, 15),
        (Kind.CHANGE, 1, 3, 10, 11),  # the step is for percents
    ],
)
def test_sizes(kind: Kind, amount: float, step: int | None, current: int, size: int) -> None:
    assert Adjustment(kind, amount, step).size(current, WIDE) == size


@pytest.mark.parametrize(("amount", "size"), [(100, 6), (-100, 2), (1, 5)])
def test_bounds_hold(amount: float, size: int) -> None:
    assert Adjustment(Kind.CHANGE, amount).size(4, Bounds(2, 6)) == size
