"""The plan: which incarnation serves a name, what runs, and in which order."""

from __future__ import annotations

from datetime import timedelta

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.incarnations import physical_name
from heat_convergence.convergence.planning.plan import Plan, plan_action, plan_goal
from heat_convergence.testing.sample_rows import changed_row
from tests.unit.convergence.plan_helpers import (
    NOW,
    desired_by_name,
    desired_resource,
    plan_context,
    rows_after_completion,
)


def names_of(rows: tuple[Resource, ...]) -> set[str]:
    return {row.name for row in rows}


def planned_by_name(plan: Plan) -> dict[str, Resource]:
    return {row.name: row for row in (*plan.added, *plan.changed, *plan.rescheduled)}


def edges_by_name(plan: Plan, rows: list[Resource]) -> set[tuple[str, str | None]]:
    """Return the edges by name: "-" marks a deleted resource, "+" an added one."""
    label = {row.id: row.name for row in rows}
    for row in (*plan.changed, *plan.rescheduled):
        label[row.id] = ("-" if row.desired.state is DesiredState.ABSENT else "") + row.name
    for row in plan.added:
        label[row.id] = "+" + row.name
    return {
        (label[edge.resource_id], edge.needed_by and label[edge.needed_by]) for edge in plan.edges
    }


def test_new_stack_starts_with_resources_without_dependencies() -> None:
    plan = plan_goal(
        [],
        desired_by_name(
            desired_resource("a"), desired_resource("b", "a"), desired_resource("c", "a", "b")
        ),
        plan_context(1),
    )
    rows = planned_by_name(plan)
    assert rows["a"].job.state is JobState.QUEUED
    assert rows["b"].job.state is rows["c"].job.state is JobState.BLOCKED
    assert edges_by_name(plan, []) == {("+a", "+b"), ("+a", "+c"), ("+b", "+c"), ("+c", None)}


def test_an_unchanged_stack_has_no_job_and_a_ready_graph() -> None:
    desired = desired_by_name(desired_resource("a"), desired_resource("b", "a"))
    rows = rows_after_completion(plan_goal([], desired, plan_context(1)))
    plan = plan_goal(rows, desired, plan_context())
    assert not plan.added
    assert not plan.changed
    assert not plan.rescheduled
    assert set(plan.ready_ids) == {row.id for row in rows}
    assert all(edge.observed_ready for edge in plan.edges)


def test_only_resources_that_reference_a_changed_one_are_rescheduled() -> None:
    before = desired_by_name(
        desired_resource("a"),
        desired_resource("b", "a"),
        desired_resource("c", "b"),
        desired_resource("d", "a", draws=False),
    )
    rows = rows_after_completion(plan_goal([], before, plan_context(1)))
    after = {**before, "a": desired_resource("a", text="2")}
    plan = plan_goal(rows, after, plan_context())
    assert names_of(plan.changed) == {"a"}
    assert names_of(plan.rescheduled) == {"b", "c"}
    assert planned_by_name(plan)["a"].job.must_run
    assert not planned_by_name(plan)["b"].job.must_run


def test_removed_resource_is_deleted_after_its_dependents() -> None:
    rows = rows_after_completion(
        plan_goal(
            [],
            desired_by_name(
                desired_resource("a"), desired_resource("b", "a"), desired_resource("c", "a")
            ),
            plan_context(1),
        )
    )
    plan = plan_goal(rows, desired_by_name(desired_resource("b", text="2")), plan_context())
    assert ("b", "-a") in edges_by_name(plan, rows)
    assert ("-c", "-a") in edges_by_name(plan, rows)
    assert planned_by_name(plan)["a"].job.state is JobState.BLOCKED


def test_failed_resource_with_a_physical_id_is_replaced_and_deleted_last() -> None:
    rows = rows_after_completion(
        plan_goal(
            [], desired_by_name(desired_resource("a"), desired_resource("b", "a")), plan_context(1)
        )
    )
    rows = [
        changed_row(r, status=Status.FAILED, action=Action.UPDATE) if r.name == "a" else r
        for r in rows
    ]
    plan = plan_goal(
        rows, desired_by_name(desired_resource("a"), desired_resource("b", "a")), plan_context()
    )
    assert names_of(plan.added) == {"a"}
    assert plan.added[0].identity.replaces == next(row.id for row in rows if row.name == "a")
    assert {("+a", "b"), ("+a", "-a"), ("b", "-a")} <= edges_by_name(plan, rows)


def test_failed_create_without_a_physical_id_is_retried_in_its_row() -> None:
    rows = rows_after_completion(
        plan_goal([], desired_by_name(desired_resource("a")), plan_context(1))
    )
    rows = [changed_row(rows[0], status=Status.FAILED, physical_id=None, job=Verb.CONVERGE)]
    plan = plan_goal(rows, desired_by_name(desired_resource("a")), plan_context())
    assert not plan.added
    assert names_of(plan.rescheduled) == {"a"}


def test_create_in_progress_is_kept_if_its_definition_is_unchanged() -> None:
    under_way = changed_row(
        plan_goal([], desired_by_name(desired_resource("a")), plan_context(1)).added[0],
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        physical_id="x",
    )
    assert not plan_goal([under_way], desired_by_name(desired_resource("a")), plan_context()).added
    superseded = plan_goal(
        [under_way], desired_by_name(desired_resource("a", text="2")), plan_context()
    )
    assert names_of(superseded.added) == {"a"}
    assert planned_by_name(superseded)["a"].desired.state in (
        DesiredState.PRESENT,
        DesiredState.ABSENT,
    )
    assert [row.desired.state for row in superseded.rescheduled] == [DesiredState.ABSENT]


@pytest.mark.parametrize("created_with", ["serving", "superseded"])
def test_unobserved_create_serves_only_with_the_inputs_of_the_goal(
    created_with: str,
) -> None:
    desired = desired_by_name(desired_resource("a"), desired_resource("b", "a"))
    complete = {
        row.name: row for row in rows_after_completion(plan_goal([], desired, plan_context(1)))
    }
    serving = changed_row(complete["a"], id="serving")
    superseded = changed_row(
        complete["a"], id="superseded", desired=DesiredState.ABSENT, job=Verb.CONVERGE
    )
    unknown = changed_row(
        complete["b"],
        desired=DesiredState.ABSENT,
        job=Verb.CONVERGE,
        physical_id=None,
        status=Status.FAILED,
        physical_dependencies=(created_with,),
    )
    plan = plan_goal([serving, superseded, unknown], desired, plan_context(2))
    assert names_of(plan.added) == (set() if created_with == "serving" else {"b"})


def test_rollback_reuses_the_previous_incarnation_that_still_exists() -> None:
    old = rows_after_completion(
        plan_goal([], desired_by_name(desired_resource("a")), plan_context(1))
    )[0]
    old = changed_row(old, desired=DesiredState.ABSENT, job=Verb.CONVERGE, definition_hash="other")
    new = changed_row(
        plan_goal([], desired_by_name(desired_resource("a", text="2")), plan_context(2)).added[0],
        id="successor",
        action=Action.CREATE,
        physical_id="y",
        status=Status.COMPLETE,
    )
    plan = plan_goal([old, new], desired_by_name(desired_resource("a")), plan_context(3))
    assert not plan.added
    assert {(row.id, row.desired.state) for row in (*plan.changed, *plan.rescheduled)} == {
        (old.id, DesiredState.PRESENT),
        ("successor", DesiredState.ABSENT),
    }


def test_resource_without_a_started_job_is_discarded_without_a_job() -> None:
    rows = list(
        plan_goal(
            [], desired_by_name(desired_resource("a"), desired_resource("b", "a")), plan_context(1)
        ).added
    )
    plan = plan_goal(rows, {}, plan_context())
    assert set(plan.discarded_ids) == {row.id for row in rows}
    assert not plan.rescheduled


def test_a_leased_row_is_not_dropped_even_if_nothing_is_recorded() -> None:
    row = plan_goal([], desired_by_name(desired_resource("a")), plan_context(1)).added[0]
    row = changed_row(row, lease_token="t", lease_expires_at=NOW + timedelta(seconds=5))
    assert not plan_goal([row], {}, plan_context()).discarded_ids


def test_reversed_dependencies_do_not_block_each_other() -> None:
    rows = rows_after_completion(
        plan_goal(
            [], desired_by_name(desired_resource("a"), desired_resource("b", "a")), plan_context(1)
        )
    )
    plan = plan_goal(
        rows,
        desired_by_name(desired_resource("a", "b", text="2"), desired_resource("b", text="2")),
        plan_context(),
    )
    assert planned_by_name(plan)["b"].job.state is JobState.QUEUED
    assert planned_by_name(plan)["a"].job.state is JobState.BLOCKED


def test_suspend_starts_at_dependents_and_resume_at_dependencies() -> None:
    rows = rows_after_completion(
        plan_goal(
            [], desired_by_name(desired_resource("a"), desired_resource("b", "a")), plan_context(1)
        )
    )
    down = plan_action(rows, Verb.SUSPEND, plan_context())
    assert planned_by_name(down)["b"].job.state is JobState.QUEUED
    assert planned_by_name(down)["a"].job.state is JobState.BLOCKED
    up = plan_action(rows, Verb.RESUME, plan_context())
    assert planned_by_name(up)["a"].job.state is JobState.QUEUED


def test_truncated_physical_name_keeps_its_suffix() -> None:
    identifier = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0001"
    name = physical_name("s" * 200, "r" * 200, identifier)
    assert len(name) == 255
    assert name.endswith("-eeeeffff0001")


@pytest.mark.parametrize("leased", [True, False])
def test_rescheduled_job_resets_the_previous_observation(leased: bool) -> None:
    row = rows_after_completion(
        plan_goal([], desired_by_name(desired_resource("a")), plan_context(1))
    )[0]
    row = changed_row(
        row,
        job=Verb.CONVERGE,
        job_state=JobState.POSTED,
        observe_at=NOW,
        lease_token="t" if leased else None,
    )
    again = planned_by_name(
        plan_goal([row], desired_by_name(desired_resource("a", text="2")), plan_context())
    )["a"]
    assert again.observation.observe_at is None
    assert again.observation.state is None
    assert again.lease.token == row.lease.token
