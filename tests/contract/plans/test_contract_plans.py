"""Stored plans: rows that are executed once at most, and not when they have expired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.plans.stored_plan import PlanAction, PlanStatus, StoredPlan
from heat_convergence.testing.sample_rows import time_at

PLAN = StoredPlan(
    id="1",
    stack_id="stack-1",
    stack_name="s",
    project_id="project-1",
    action=PlanAction.UPDATE,
    username="someone",
    created_at=time_at(1),
    expires_at=time_at(100),
    stack_version=3,
    summary={"é": 1},
    document={"resources": [{"a": "\ud83d\0"}], "quotas": []},
    request={"source": {"text": "x", "files": {}}},
    state={"stacks": {"stack-1": ["s", "x"]}},
)


def test_plan_round_trip(seeder):
    with seeder.store.transaction() as tx:
        tx.plans.insert(PLAN)
    with seeder.store.transaction() as tx:
        assert tx.plans.get("1") == PLAN
        assert tx.plans.get("2") is None


def test_plan_is_marked_executed_once(seeder):
    with seeder.store.transaction() as tx:
        tx.plans.insert(PLAN)
        assert tx.plans.mark_executed("1", time_at(5))
    with seeder.store.transaction() as tx:
        assert not tx.plans.mark_executed("1", time_at(6))
        assert not tx.plans.mark_executed("2", time_at(6))
        found = tx.plans.get("1")
    assert found == replace(PLAN, executed_at=time_at(5))
    assert found.status(time_at(5)) is PlanStatus.EXECUTED


@pytest.mark.parametrize(("seconds", "marked"), [(99, True), (100, False)])
def test_expired_plan_is_not_marked(seeder, seconds, marked):
    with seeder.store.transaction() as tx:
        tx.plans.insert(PLAN)
        assert tx.plans.mark_executed("1", time_at(seconds)) is marked


def test_ready_plans_of_a_project_are_counted(seeder):
    with seeder.store.transaction() as tx:
        tx.plans.insert(PLAN)
        tx.plans.insert(replace(PLAN, id="2", expires_at=time_at(4)))
        tx.plans.insert(replace(PLAN, id="3", executed_at=time_at(2)))
        tx.plans.insert(replace(PLAN, id="4", project_id="project-2"))
        tx.plans.insert(replace(PLAN, id="5", stack_id="stack-2"))
        assert tx.plans.count_ready("project-1", time_at(4)) == 2
        assert tx.plans.count_ready("project-3", time_at(4)) == 0


def test_plan_is_deleted_once(seeder):
    with seeder.store.transaction() as tx:
        tx.plans.insert(PLAN)
        assert tx.plans.delete("1")
        assert not tx.plans.delete("1")
        assert tx.plans.get("1") is None
