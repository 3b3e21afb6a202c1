"""The plan of a new stack comes to the same as a plan from no rows, a row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import JobState, Verb
from heat_convergence.convergence.model.resource import ADOPTED_STACK, RELEASES_EARLY, Resource
from heat_convergence.convergence.model.resource_columns import get_column
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.convergence.planning.first_plan import AdoptedResource, plan_new_stack
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.template.environment.readiness import ReadinessLevel
from tests.unit.convergence.plan_helpers import desired_by_name, desired_resource, plan_context

STAGED = replace(desired_resource("c", "a", "b"), requirement_levels={"a": ReadinessLevel.EXISTS})
GOALS = {
    "nothing": {},
    "independent": desired_by_name(*(desired_resource(name) for name in "abc")),
    "chain": desired_by_name(
        desired_resource("a"), desired_resource("b", "a"), desired_resource("c", "b")
    ),
    "levels": desired_by_name(desired_resource("a"), desired_resource("b"), STAGED),
    "missing requirement": desired_by_name(desired_resource("a", "gone")),
    "hooks": desired_by_name(
        replace(desired_resource("a"), hooks_and_restrictions=("pre-create",), sensitive=True)
    ),
}


@pytest.mark.parametrize("desired", GOALS.values(), ids=GOALS.keys())
def test_new_stack_is_planned_as_from_no_rows(desired: Mapping[str, DesiredResource]) -> None:
    # All goals have their requirements first, so that both plans take the ids in one order.
    expected = plan_goal((), desired, plan_context(1))
    plan = plan_new_stack(desired, plan_context(1))
    assert tuple(plan.rows({})) == expected.added
    assert tuple(plan.edges()) == expected.edges
    assert plan.leaves() == [row for row in expected.added if row.job.state is JobState.QUEUED]
    assert (expected.changed, expected.rescheduled, expected.discarded_ids) == ((), (), ())


def test_ids_follow_the_order_of_the_goal() -> None:
    desired = desired_by_name(
        desired_resource("z"), desired_resource("b", "z"), desired_resource("a")
    )
    rows = [*plan_new_stack(desired, plan_context(1)).rows({})]
    assert [row.name for row in sorted(rows, key=lambda row: row.id)] == ["z", "b", "a"]


def test_so_many_leaves_are_returned_and_stored_as_they_are_changed() -> None:
    plan = plan_new_stack(GOALS["independent"], plan_context(1))
    first, second = plan.leaves(2)
    assert (first.name, second.name) == ("a", "b")
    changed = replace(first, job=replace(first.job, version=7))
    stored = [*plan.rows({changed.id: changed})]
    assert stored[0] is changed
    assert stored[1] == second


def test_rows_that_others_start_early_are_marked() -> None:
    plan = plan_new_stack(GOALS["levels"], plan_context(1))
    marked = {row.name for row in plan.rows({}) if is_early(row)}
    assert marked == {"a"}
    (level,) = (edge.level for edge in plan.edges() if edge.level is not None)
    assert level is ReadinessLevel.EXISTS


def is_early(row: Resource) -> bool:
    return RELEASES_EARLY in row.desired.hooks_and_restrictions


@pytest.mark.parametrize(("name", "expected"), [("hooks", True), ("levels", False)])
def test_hooks_are_known_before_rows_are_made(name: str, expected: bool) -> None:
    assert plan_new_stack(GOALS[name], plan_context(1)).has_hooks is expected


def test_adopted_resources_have_what_exists() -> None:
    nested = replace(desired_resource("n"), definition={"type": "T", NESTED_STACK_KEY: {}})
    adopted = {
        "a": AdoptedResource("phys", {"k": 1}, sensitive=True, suspended=True),
        "n": AdoptedResource("of another tenant", {ADOPTED_STACK: {}}),
    }
    desired = desired_by_name(desired_resource("a"), nested, desired_resource("b", "a"))
    rows = {row.name: row for row in plan_new_stack(desired, plan_context(1), adopted).rows({})}
    assert {row.job.verb for row in rows.values()} == {Verb.ADOPT}
    assert (rows["a"].physical.id, rows["a"].physical.data) == ("phys", {"k": 1})
    assert (rows["a"].desired.sensitive, get_column(rows["a"], "suspended")) == (True, True)
    assert (rows["n"].physical.id, rows["b"].physical.id) == (None, None)
    assert rows["b"].job.state is JobState.BLOCKED


def test_edges_are_made_where_they_are_stored() -> None:
    edges = plan_new_stack(GOALS["chain"], plan_context(1)).edges()
    assert isinstance(next(edges), Edge)
    assert len([*edges]) == 2
