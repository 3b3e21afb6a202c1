"""Values that cannot be decoded raise an error when they are used."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.common.stored_values import StoredValueUnreadable, UnreadableValue

TIME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.sub, min, max]
)
def test_comparison_with_an_unreadable_time_names_its_place(compare):
    value = UnreadableValue("it is no time", 2**62)
    value.locate("resource", "observe_at", "r1")
    for operands in ((value, TIME), (TIME, value)):
        with pytest.raises(StoredValueUnreadable, match="observe_at of resource r1"):
            compare(*operands)


def test_sum_with_an_unreadable_time_names_its_place():
    value = UnreadableValue("it is no time", 2**62)
    value.locate("stack", "deadline_at", "s1")
    for operands in ((value, timedelta(1)), (timedelta(1), value)):
        with pytest.raises(StoredValueUnreadable, match="deadline_at of stack s1"):
            operator.add(*operands)
