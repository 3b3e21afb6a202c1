"""Batches of random groups keep the limits of their policy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_name,
    roll_by_order,
)

SIZES = st.integers(0, 12)
LIMITS = st.builds(RollingUpdatePolicy, st.integers(1, 5), st.integers(0, 12))


@given(before=SIZES, after=SIZES, limits=LIMITS, updated=st.integers(0, 12))
def test_batches_by_name_end_within_their_limits(
    before: int, after: int, limits: RollingUpdatePolicy, updated: int
) -> None:
    target = [str(at) for at in range(after)]
    members = {str(at): "new" if at < updated else "old" for at in range(before)}
    more = True
    for _step in range(100):
        if not more:
            break
        standing = set(members)
        outdated = {name for name, each in members.items() if each == "old"}
        members, more = roll_by_name(members, lambda _name: "new", target, str, limits)
        changed = {name for name in outdated & set(members) if members[name] == "new"}
        kept = (standing & set(members)) - changed
        # Members in service fall below the minimum only by those that were not in service before.
        assert len(changed) <= limits.batch_size
        assert len(kept) >= min(limits.min_in_service, after, len(standing)) - len(changed)
    assert members == dict.fromkeys(target, "new")
    assert not more


@given(before=st.integers(1, 12), limits=LIMITS, updated=st.integers(0, 12))
def test_batches_by_order_keep_min_in_service(
    before: int, limits: RollingUpdatePolicy, updated: int
) -> None:
    members = {f"m{at}": "new" if at < updated else "old" for at in range(before)}
    names = (f"x{at}" for at in range(100))
    for _step in range(100):
        standing = dict(members)
        members = roll_by_order(members, "new", before, limits, lambda: next(names))
        changed = [name for name in members if standing.get(name) != "new" == members[name]]
        assert len(changed) <= limits.batch_size
        left = [name for name in standing if members.get(name) == standing[name]]
        assert len(left) >= min(limits.min_in_service, before, len(standing)) - len(
            [name for name in standing if members.get(name, "gone") != standing[name]]
        )
        if len(members) == before and set(members.values()) == {"new"}:
            break
    assert list(members.values()) == ["new"] * before
