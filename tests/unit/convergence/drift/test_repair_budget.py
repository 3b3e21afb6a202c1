"""The decision which repairs may start."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairLimits,
    RepairStatus,
    ResourceRepair,
    decide_repairs,
)
from heat_convergence.convergence.drift.repair_end import resume_repair, undo_repair
from heat_convergence.template.environment.repair_window import RepairWindow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def candidate(name="a", stack_id="s", status=DriftStatus.MODIFIED):
    return RepairCandidate(stack_id=stack_id, project_id="p", resource_name=name, status=status)


def repair(name="a", stack_id="s", **values):
    defaults = {"project_id": "p", "next_at": NOW}
    return ResourceRepair(**{"stack_id": stack_id, "resource_name": name, **defaults, **values})


def decide(candidates, known=(), now=NOW, **limits):
    return decide_repairs(candidates, list(known), RepairLimits(**limits), now)


def test_first_repair_starts_at_once():
    decision = decide([candidate()])
    assert decision.granted == (candidate(),)
    row = repair(tries=1, started_at=NOW, next_at=NOW + MINUTE, version=1)
    assert decision.changed == (row,)


def test_pauses_double_up_to_a_limit():
    limits = RepairLimits(backoff_s=60, backoff_max_s=300)
    assert [limits.pause_s(tries) for tries in (1, 2, 3, 4, 1000)] == [60, 120, 240, 300, 300]


def test_repair_does_not_start_before_its_time():
    early = repair(tries=1, started_at=NOW, next_at=NOW + MINUTE)
    assert decide([candidate()], [early]).granted == ()
    assert decide([candidate()], [early], now=NOW + MINUTE).granted == (candidate(),)


def test_repairs_that_do_not_last_are_suspended():
    tried = repair(tries=5, started_at=NOW - MINUTE)
    (row,) = decide([candidate()], [tried]).changed
    assert (row.status, row.tries) == (RepairStatus.SUSPENDED, 5)
    assert "5 repairs have not lasted" in row.reason
    later = NOW + timedelta(days=9)
    assert decide([candidate()], [row], now=later) == decide([])
    assert decide([candidate()], [resume_repair(row, NOW)]).granted == (candidate(),)


def test_repair_that_has_lasted_counts_no_try():
    tried = repair(tries=5, started_at=NOW - timedelta(days=1))
    (row,) = decide([candidate()], [tried]).changed
    assert (row.status, row.tries) == (RepairStatus.STARTED, 1)


def test_budget_defers_until_the_oldest_repair_is_an_hour_old():
    lost = candidate("b", status=DriftStatus.DELETED)
    spent = repair(destructive_at=(NOW - 50 * MINUTE, NOW - 70 * MINUTE))
    (row,) = decide([lost], [spent], per_stack=1).changed
    assert row.status is RepairStatus.DEFERRED
    assert (row.tries, row.next_at) == (0, NOW + 10 * MINUTE)
    assert decide([lost], [spent, row], now=row.next_at, per_stack=1).granted == (lost,)


def test_budget_of_another_stack_is_its_own_and_that_of_the_project_is_shared():
    spent = repair(stack_id="other", destructive_at=(NOW,))
    lost = candidate(status=DriftStatus.ERROR)
    assert decide([lost], [spent], per_stack=1, per_project=2).granted == (lost,)
    assert decide([lost], [spent], per_stack=1, per_project=1).granted == ()


def test_changes_in_place_are_repaired_first_and_without_budget():
    lost = candidate("a", status=DriftStatus.DELETED)
    assert decide([lost, candidate("b")], per_stack=0).granted == (candidate("b"),)


def test_repair_that_could_not_be_started_counts_no_try_and_no_budget():
    (row,) = decide([candidate(status=DriftStatus.DELETED)]).changed
    undone = undo_repair(row, NOW, RepairLimits())
    assert (undone.tries, undone.destructive_at) == (0, ())
    assert undone.next_at == NOW + MINUTE


def test_row_is_not_changed_by_its_decision():
    row = repair(tries=2)
    before = replace(row)
    decide([candidate()], [row])
    assert row == before


NIGHT = RepairWindow("0 2 * * *", 3600)
AT_TWO = NOW + timedelta(hours=2)


def windowed(window=NIGHT, **values):
    return replace(candidate(), window=window, **values)


def test_repair_outside_of_its_window_is_deferred_until_that_opens():
    (row,) = decide([windowed()]).changed
    assert (row.status, row.tries, row.next_at) == (RepairStatus.DEFERRED, 0, AT_TWO)
    assert row.reason == 'repairs start in the window "0 2 * * *" UTC, 3600 s'
    assert decide([windowed()], [row], now=AT_TWO - MINUTE).granted == ()
    assert decide([windowed()], [row], now=AT_TWO).granted == (windowed(),)


def test_own_window_counts_before_that_of_the_operator():
    later = RepairWindow("0 5 * * *")
    (row,) = decide([candidate()], window=later).changed
    assert row.next_at == NOW + timedelta(hours=5)
    assert decide([windowed()], now=AT_TWO, window=later).granted == (windowed(),)


def test_deferred_repair_is_decided_again_after_an_update_of_the_stack():
    (row,) = decide([windowed(stack_version=3)]).changed
    assert decide([replace(windowed(None), stack_version=3)], [row]).granted == ()
    updated = replace(windowed(None), stack_version=4)
    assert decide([updated], [row]).granted == (updated,)


def test_window_spends_no_budget():
    lost = replace(candidate(status=DriftStatus.DELETED), window=NIGHT)
    (row,) = decide([lost]).changed
    assert row.destructive_at == ()
