"""The end of a repair follows from the state of its stack."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairLimits,
    RepairOutcome,
    RepairStatus,
    ResourceRepair,
    decide_repairs,
)
from heat_convergence.convergence.drift.repair_end import (
    NEVER_STARTED,
    TraversalState,
    find_end,
    resume_repair,
    undo_repair,
)
from heat_convergence.convergence.model.action import Action, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
REPAIR = ResourceRepair(
    stack_id="s",
    resource_name="a",
    project_id="p",
    tries=1,
    started_at=NOW,
    next_at=NOW + MINUTE,
    version=4,
)


def state(version=4, status=Status.COMPLETE, action=Action.UPDATE, **values):
    return TraversalState(version=version, action=action, status=status, **values)


def outcome(stack, now=NOW):
    found = find_end(REPAIR, stack, now)
    return None if found is None else found.outcome


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (state(), RepairOutcome.REPAIRED),
        (state(status=Status.IN_PROGRESS), None),
        (state(status=Status.FAILED), RepairOutcome.FAILED),
        (state(5, Status.IN_PROGRESS, Action.ROLLBACK), RepairOutcome.FAILED),
        (state(5, Status.IN_PROGRESS), RepairOutcome.SUPERSEDED),
        (state(6, Status.COMPLETE, Action.ROLLBACK), RepairOutcome.SUPERSEDED),
        (state(is_repair=False), RepairOutcome.SUPERSEDED),
        (state(3), None),
        (None, RepairOutcome.SUPERSEDED),
    ],
)
def test_outcome(stack, expected):
    assert outcome(stack) is expected


def test_repair_that_an_observer_has_never_started_ends_when_another_try_may_follow():
    assert outcome(state(3), NOW + MINUTE - timedelta(seconds=1)) is None
    end = find_end(REPAIR, state(3), NOW + MINUTE)
    assert end is not None
    assert (end.outcome, end.reason) == (RepairOutcome.FAILED, NEVER_STARTED)


def test_end_is_recorded_once_and_only_of_the_same_repair():
    end = find_end(REPAIR, state(status=Status.FAILED, reason="no host"), NOW)
    assert end is not None
    row = end.as_row(NOW + MINUTE)
    assert (row.ended_at, row.reason, row.is_running) == (NOW + MINUTE, "no host", False)
    assert end.is_of(REPAIR)
    for other in (row, replace(REPAIR, version=5), undo_repair(REPAIR, NOW, RepairLimits()), None):
        assert not end.is_of(other)


def test_no_other_repair_is_decided_while_one_goes_on():
    later = NOW + timedelta(hours=1)
    assert not REPAIR.may_start(4, later)
    assert not resume_repair(REPAIR, later).may_start(4, later)
    assert replace(REPAIR, ended_at=NOW).may_start(4, later)
    assert replace(REPAIR, version=None).may_start(4, later)  # of an earlier release


def test_repair_after_which_the_resource_drifts_again_has_not_lasted():
    ended = replace(REPAIR, ended_at=NOW, outcome=RepairOutcome.REPAIRED)
    again = RepairCandidate(
        stack_id="s", project_id="p", resource_name="a", status=DriftStatus.MODIFIED
    )
    limits = RepairLimits(tries=1)
    (row,) = decide_repairs([again], [ended], limits, NOW + MINUTE).changed
    assert (row.status, row.outcome) == (RepairStatus.SUSPENDED, RepairOutcome.NOT_LASTING)
    (row,) = decide_repairs([again], [ended], RepairLimits(), NOW + MINUTE).changed
    assert (row.status, row.outcome, row.ended_at) == (RepairStatus.STARTED, None, None)
