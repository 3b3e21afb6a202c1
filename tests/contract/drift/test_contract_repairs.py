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
    RepairStatus,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.template.environment.drift_policies import DriftPolicy
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
        stack_id="stack-2", project_id="project-1", resource_name=name, status=status
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
    granted = repairs.grant("project-1", [candidate(), *others], limits, time_at(30))
    assert set(granted) == {candidate(), lost}
    found = {row.resource_name: row for row in repairs.list_repairs(["stack-2"])}
    assert [found[name].tries for name in "abc"] == [1, 1, 0]
    assert found["b"].destructive_at == (time_at(30),)
    assert found["c"].status is RepairStatus.DEFERRED
    assert repairs.list_repairs(["stack-1"]) == []
    assert names(drifted, 31) == []  # too early
    assert names(drifted, 300) == ["a"]


def test_suspended_repairs_go_on_when_they_are_resumed(drifted):
    repairs = drifted.store.repairs
    for now in (30, 300):
        repairs.grant("project-1", [candidate()], LIMITS, time_at(now))
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
