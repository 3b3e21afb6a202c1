"""Tests of the size of a group after an adjustment.

Source: docs/reference/resource-groups.rst, "OS::Heat::ScalingPolicy".
"""

from __future__ import annotations

import pytest

from heat_convergence.resources.protocol.scaling_adjustment import (
    AdjustmentType,
    ScalingAdjustment,
    ScalingBounds,
)

WIDE = ScalingBounds(0, 1000)


@pytest.mark.parametrize(
    ("adjustment_type", "amount", "step", "current", "size"),
    [
        (AdjustmentType.CHANGE, 2, None, 3, 5),
        (AdjustmentType.CHANGE, -2, None, 3, 1),
        (AdjustmentType.CHANGE, 1.9, None, 3, 4),
        (AdjustmentType.EXACT, 7, None, 3, 7),
        (AdjustmentType.EXACT, 0, None, 3, 0),
        (AdjustmentType.PERCENT, 50, None, 4, 6),
        (AdjustmentType.PERCENT, 50, None, 5, 7),  # 2.5 towards zero
        (AdjustmentType.PERCENT, -50, None, 5, 3),
        (AdjustmentType.PERCENT, 10, None, 3, 4),  # less than one counts as one
        (AdjustmentType.PERCENT, -10, None, 3, 2),
        (AdjustmentType.PERCENT, 10, None, 0, 0),
        (AdjustmentType.PERCENT, 0, 3, 10, 10),
        (AdjustmentType.PERCENT, 10, 3, 10, 13),
        (AdjustmentType.PERCENT, -10, 3, 10, 7),
        (AdjustmentType.PERCENT, 50, 3, 10, 15),
        (AdjustmentType.CHANGE, 1, 3, 10, 11),  # the step applies to percentages
    ],
)
def test_new_size_by_adjustment_type(
    adjustment_type: AdjustmentType, amount: float, step: int | None, current: int, size: int
) -> None:
    assert ScalingAdjustment(adjustment_type, amount, step).new_size(current, WIDE) == size


@pytest.mark.parametrize(("amount", "size"), [(100, 6), (-100, 2), (1, 5)])
def test_new_size_stays_within_bounds(amount: float, size: int) -> None:
    assert (
        ScalingAdjustment(AdjustmentType.CHANGE, amount).new_size(4, ScalingBounds(2, 6)) == size
    )
