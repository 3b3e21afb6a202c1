"""Histories of drift: no budget is exceeded, and no resource is repaired for ever."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_budget import (
    BUDGET_PERIOD,
    RepairCandidate,
    RepairLimits,
    decide_repairs,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def candidate(name, stack_id, status):
    return RepairCandidate(stack_id=stack_id, project_id="p", resource_name=name, status=status)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from("st"), st.sampled_from(
                [DriftStatus.DELETED, DriftStatus.ERROR, DriftStatus.MODIFIED]
            )),
            max_size=5,
            unique_by=lambda each: each[:2],
        ),
    ),
    max_size=40,
)  # fmt: skip


@given(STEPS)
def test_no_history_exceeds_the_budget_or_the_tries(steps):
    limits = RepairLimits(per_stack=2, per_project=3, tries=3)
    rows, now, destructive, started = {}, NOW, [], {}
    for minutes, found in steps:
        now += minutes * MINUTE
        candidates = [candidate(name, stack_id, status) for name, stack_id, status in found]
        decision = decide_repairs(candidates, list(rows.values()), limits, now)
        # Every repair that was started ends before the next decision.
        rows |= {row.key: replace(row, ended_at=now) for row in decision.changed}
        for each in decision.granted:
            started.setdefault(each.key, []).append(now)
            if each.is_destructive:
                destructive.append((now, each.stack_id))
        recent = [stack_id for at, stack_id in destructive if at > now - BUDGET_PERIOD]
        assert len(recent) <= limits.per_project
        assert all(recent.count(stack_id) <= limits.per_stack for stack_id in "st")
    for times in started.values():
        assert len(times) <= limits.tries
        assert all(later > sooner for sooner, later in itertools.pairwise(times))
