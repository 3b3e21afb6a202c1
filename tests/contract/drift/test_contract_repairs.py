"""Repairs that the service starts by itself: candidates, budget and tries."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    ResourceObservation,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairLimits,
    RepairOutcome,
    RepairStatus,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow, window_word
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

TYPE = "Sim::Resource"
COMPLETE = {
    "physical_id": "p",
    "job": None,
    "job_state": None,
    "status": Status.COMPLETE,
    "project_id": "project-1",
    "stack_id": "stack-2",
}
LIMITS = RepairLimits(per_stack=1, tries=1)


def candidate(name="a", status=DriftStatus.MODIFIED):
    return RepairCandidate(
        stack_id="stack-2",
        project_id="project-1",
        resource_name=name,
        status=status,
        stack_version=1,
    )


def observe(seeder, at=20, group_at=20, **values):
    """Record that resource ``a`` of a complete stack has drifted."""
    defaults = {
        "resource_id": "a",
        "stack_id": "stack-2",
        "project_id": "project-1",
        "implementation": TYPE,
        "status": DriftStatus.MODIFIED,
        "policy": DriftPolicy.REPAIR,
        "since": time_at(at),
        "observed_at": time_at(at),
    }
    group = WatchGroup(
        project_id="project-1",
        implementation=TYPE,
        interval_s=15.0,
        next_at=time_at(99),
        observed_at=time_at(group_at),
    )
    found = ResourceObservation(**{**defaults, **values})
    watch = seeder.store.watch
    watch.add_groups(["stack-2"], [TYPE], time_at(15), 15.0)
    assert watch.record(group, WatchResult((found,))) == 1


@pytest.fixture
def drifted(seeder):
    seeder.stack(stack_row("stack-2", status=Status.COMPLETE))
    seeder.resources(resource_row("a", **COMPLETE | {"name": "a"}))
    observe(seeder)
    return seeder


def names(seeder, now=30):
    found = seeder.store.repairs.list_candidates(time_at(now), 9)
    return [each.resource_name for each in found]


def end(seeder, now):
    """Record the ends of all repairs, as if their stacks were deleted; return their outcomes."""
    repairs = seeder.store.repairs
    ends = repairs.list_ended(time_at(now), 9)
    repairs.record_ends("project-1", ends, time_at(now))
    return {each.repair.resource_name: each.outcome for each in ends}


def test_drifted_resource_with_the_policy_is_a_candidate(drifted):
    assert drifted.store.repairs.list_candidates(time_at(30), 9) == [candidate()]
    assert drifted.store.repairs.list_candidates(time_at(30), 0) == []


@pytest.mark.parametrize(
    "values",
    [
        {"policy": DriftPolicy.REPORT},
        {"policy": None},
        {"status": DriftStatus.IN_SYNC},
        {"status": DriftStatus.UNKNOWN},
        {"status": DriftStatus.DELETED},
    ],
)
def test_other_observations_are_no_candidates(drifted, values):
    observe(drifted, **values)
    assert names(drifted) == []


def test_missing_resource_is_a_candidate_after_a_second_read(drifted):
    observe(drifted, status=DriftStatus.DELETED, at=20, group_at=35)
    assert names(drifted) == ["a"]


def change_stack(seeder, stack_id="stack-2", **values):
    with seeder.store.transaction() as tx:
        tx.stacks.update(stack_id, **values)


@pytest.mark.parametrize(
    "values",
    [{"status": Status.IN_PROGRESS}, {"status": Status.FAILED}, {"action": Action.SUSPEND},
     {"deleted_at": time_at(5)}],
)  # fmt: skip
def test_stack_that_is_not_at_rest_has_no_candidates(drifted, values):
    change_stack(drifted, **values)
    assert names(drifted) == []


def test_nested_stack_of_a_root_in_progress_has_no_candidates(drifted):
    drifted.stack(stack_row("stack-9", status=Status.COMPLETE))
    change_stack(drifted, owner_id="stack-9", root_id="stack-9")
    assert names(drifted) == ["a"]
    change_stack(drifted, "stack-9", status=Status.IN_PROGRESS)
    assert names(drifted) == []


@pytest.mark.parametrize("paused", ["stack-2", "stack-9"])
def test_paused_stack_has_no_candidates(drifted, paused):
    drifted.stack(stack_row("stack-9", status=Status.COMPLETE))
    change_stack(drifted, owner_id="stack-9", root_id="stack-9")
    drifted.store.watch.change_control(paused, paused=True)
    assert names(drifted) == []
    drifted.store.watch.change_control(paused, paused=False)
    assert names(drifted) == ["a"]


def test_resource_that_an_action_has_changed_is_no_candidate(drifted):
    with drifted.store.transaction() as tx:
        tx.resources.update(["a"], updated_at=time_at(25))
    assert names(drifted) == []


def test_repairs_are_granted_within_limits(drifted):
    repairs, limits = drifted.store.repairs, RepairLimits(per_stack=1, tries=1)
    lost = candidate("b", DriftStatus.DELETED)
    others = [lost, candidate("c", DriftStatus.ERROR)]
    decision = repairs.grant("project-1", [candidate(), *others], limits, time_at(30))
    assert set(decision.granted) == {candidate(), lost}
    assert decision.suspended == ()
    found = {row.resource_name: row for row in repairs.list_repairs(["stack-2"])}
    assert [found[name].tries for name in "abc"] == [1, 1, 0]
    assert found["b"].destructive_at == (time_at(30),)
    assert found["c"].status is RepairStatus.DEFERRED
    assert repairs.list_repairs(["stack-1"]) == []
    assert names(drifted, 300) == []  # it goes on
    assert end(drifted, 31) == {}
    change_stack(drifted, version=3)
    assert end(drifted, 31) == {"a": RepairOutcome.SUPERSEDED, "b": RepairOutcome.SUPERSEDED}
    assert end(drifted, 31) == {}
    assert names(drifted, 31) == []  # too early
    assert names(drifted, 300) == ["a"]


def test_suspended_repairs_go_on_when_they_are_resumed(drifted):
    repairs = drifted.store.repairs
    for now in (30, 300):
        decision = repairs.grant("project-1", [candidate()], LIMITS, time_at(now))
        end(drifted, 299)
    assert decision.suspended == tuple(repairs.list_repairs(["stack-2"]))
    assert [row.status for row in repairs.list_repairs(["stack-2"])] == [RepairStatus.SUSPENDED]
    assert names(drifted, 9000) == []
    assert repairs.resume("project-2", ["stack-2"], time_at(300)) == 0
    assert repairs.resume("project-1", ["stack-1"], time_at(300)) == 0
    assert repairs.resume("project-1", ["stack-2"], time_at(300)) == 1
    assert names(drifted, 300) == ["a"]


def test_repair_that_could_not_start_is_undone(drifted):
    repairs = drifted.store.repairs
    lost = candidate("b", DriftStatus.DELETED)
    repairs.grant("project-1", [candidate(), lost], LIMITS, time_at(30))
    repairs.undo([lost], LIMITS, time_at(31))
    found = {row.resource_name: row for row in repairs.list_repairs(["stack-2"])}
    assert (found["a"].tries, found["b"].tries) == (1, 0)
    assert found["b"].destructive_at == ()
    assert found["b"].next_at == time_at(91)


NIGHT, NOON = RepairWindow("0 2 * * *"), RepairWindow("0 12 * * *", 60, "Europe/Berlin")


def window_of_candidate(seeder):
    (found,) = seeder.store.repairs.list_candidates(time_at(30), 9)
    return found.window


def test_window_of_the_stack_counts_before_that_of_its_root(drifted):
    drifted.stack(stack_row("stack-9", status=Status.COMPLETE))
    change_stack(drifted, owner_id="stack-9", root_id="stack-9")
    assert window_of_candidate(drifted) is None
    drifted.store.watch.change_control("stack-9", repair_window=NOON)
    assert window_of_candidate(drifted) == NOON
    changed = drifted.store.watch.change_control("stack-2", repair_window=NIGHT)
    assert (changed.repair_window, changed.paused) == (NIGHT, False)
    assert window_of_candidate(drifted) == NIGHT
    assert drifted.store.watch.get_control("stack-2").repair_window == NIGHT
    drifted.store.watch.change_control("stack-2", repair_window=None, policy=None)
    assert window_of_candidate(drifted) == NOON


def test_window_of_the_environment_counts_first(seeder):
    words = ("drift=repair", window_word(NIGHT))
    seeder.stack(stack_row("stack-2", status=Status.COMPLETE))
    seeder.resources(resource_row("a", **COMPLETE, name="a", hooks_and_restrictions=words))
    observe(seeder)
    seeder.store.watch.change_control("stack-2", repair_window=NOON)
    assert window_of_candidate(seeder) == NIGHT


@pytest.mark.parametrize("changed", ["stack-2", "stack-9", "another"])
def test_deferred_repair_is_decided_again_when_its_window_changes(drifted, changed):
    drifted.stack(stack_row("stack-9", status=Status.COMPLETE))
    change_stack(drifted, owner_id="stack-9", root_id="stack-9")
    limits = RepairLimits(window=NIGHT)
    decision = drifted.store.repairs.grant("project-1", [candidate()], limits, time_at(30))
    assert decision.granted == ()
    assert names(drifted, 31) == []
    drifted.store.watch.change_control(changed, paused=False)
    assert names(drifted, 31) == []
    drifted.store.watch.change_control(changed, repair_window=NOON)
    assert names(drifted, 31) == (["a"] if changed != "another" else [])


def test_deferred_repair_is_decided_again_after_an_update_of_its_stack(drifted):
    limits = RepairLimits(window=NIGHT)
    drifted.store.repairs.grant("project-1", [candidate()], limits, time_at(30))
    assert names(drifted, 31) == []
    change_stack(drifted, version=2)
    assert names(drifted, 31) == ["a"]


def start(seeder, *words, **values):
    """Grant the repair of resource ``a``, and start the traversal that repairs it."""
    seeder.store.repairs.grant("project-1", [candidate()], RepairLimits(), time_at(30))
    change_stack(seeder, version=2, action=Action.UPDATE, **values)
    with seeder.store.transaction() as tx:
        tx.resources.update(["a"], hooks_and_restrictions=words)


MARK = "automatic-repair=repair"


@pytest.mark.parametrize(
    ("words", "values", "expected"),
    [
        ([MARK], {"status": Status.IN_PROGRESS}, None),
        ([MARK], {"status": Status.COMPLETE}, RepairOutcome.REPAIRED),
        ([MARK], {"status": Status.FAILED, "status_reason": "bad"}, RepairOutcome.FAILED),
        ([MARK], {"version": 3, "action": Action.ROLLBACK}, RepairOutcome.FAILED),
        ([MARK], {"version": 3}, RepairOutcome.SUPERSEDED),
        ([], {"status": Status.COMPLETE}, RepairOutcome.SUPERSEDED),
        ([MARK], {"deleted_at": time_at(40)}, RepairOutcome.SUPERSEDED),
    ],
)
def test_end_of_a_repair_is_that_of_its_traversal(drifted, words, values, expected):
    start(drifted, *words)
    change_stack(drifted, **values)
    assert end(drifted, 40) == ({} if expected is None else {"a": expected})
    (row,) = drifted.store.repairs.list_repairs(["stack-2"])
    assert (row.outcome, row.is_running) == (expected, expected is None)
    assert row.reason == ("bad" if "status_reason" in values else row.reason)
    assert row.ended_at == (None if expected is None else time_at(40))


def test_repair_that_was_never_started_ends_after_its_pause(drifted):
    drifted.store.repairs.grant("project-1", [candidate()], RepairLimits(), time_at(30))
    assert end(drifted, 89) == {}
    assert end(drifted, 90) == {"a": RepairOutcome.FAILED}
    assert names(drifted, 90) == ["a"]


def test_end_of_an_earlier_repair_is_not_recorded_for_a_later_one(drifted):
    repairs = drifted.store.repairs
    start(drifted, MARK)
    ends = repairs.list_ended(time_at(40), 9)
    repairs.undo([candidate()], LIMITS, time_at(41))
    repairs.record_ends("project-1", ends, time_at(42))
    (row,) = repairs.list_repairs(["stack-2"])
    assert (row.ended_at, row.outcome) == (None, None)
