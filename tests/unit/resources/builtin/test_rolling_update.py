"""Rolling updates end, whatever their limits are, and keep enough members in service."""

from __future__ import annotations

from itertools import count, islice, product

import pytest

from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_name,
    roll_by_order,
)

SIZES = range(6)
BATCHES = (1, 2, 5, 9)
MINIMUMS = (0, 1, 3, 5, 6, 20)
PAUSES = (0.0, 5.0)
MOST_STEPS = 30


def policies() -> list[RollingUpdatePolicy]:
    return [RollingUpdatePolicy(*limits) for limits in product(BATCHES, MINIMUMS, PAUSES)]


@pytest.mark.parametrize("removed", [(), ("1",), ("0", "2")], ids=str)
@pytest.mark.parametrize(("current", "target"), product(SIZES, SIZES))
def test_update_by_name_ends(current: int, target: int, removed: tuple[str, ...]) -> None:
    def name_of(at: int) -> str:
        return next(islice((name for name in map(str, count()) if name not in removed), at, None))

    names = [name_of(at) for at in range(target)]
    for policy in policies():
        members, more, steps = {name_of(at): "old" for at in range(current)}, True, 0
        while more:
            before, steps = members, steps + 1
            members, more = roll_by_name(members, lambda _name: "new", names, name_of, policy)
            kept = sum(before.get(name) == each for name, each in members.items())
            assert kept >= min(policy.min_in_service, target, len(before)) or not more
            assert steps < MOST_STEPS, policy
        assert members == dict.fromkeys(names, "new"), policy


@pytest.mark.parametrize(("current", "target"), product(SIZES, SIZES))
def test_update_by_order_ends(current: int, target: int) -> None:
    for policy in policies():
        added = count()
        members = {f"old-{number}": "old" for number in range(current)}
        for _ in range(MOST_STEPS):
            if len(members) == target and set(members.values()) <= {"new"}:
                break
            members = roll_by_order(members, "new", target, policy, lambda: f"new-{next(added)}")  # noqa: B023
        assert len(members) == target, policy
        assert set(members.values()) <= {"new"}, policy
