"""Rows that a goal takes over as they are."""

from __future__ import annotations

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.handover import (
    ExistingObject,
    ResourceMove,
    import_row,
    list_unsettled,
    place_rows,
    settle_rows,
)
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.testing.sample_rows import changed_row
from tests.unit.convergence.plan_helpers import (
    desired_by_name,
    desired_resource,
    plan_context,
    rows_after_completion,
)


def complete_rows(*names: str, stack_id: str = "stack") -> list[Resource]:
    desired = desired_by_name(*(desired_resource(name) for name in names))
    rows = rows_after_completion(plan_goal([], desired, plan_context(1)))
    return [changed_row(row, id=f"{stack_id}-{row.name}", stack_id=stack_id) for row in rows]


def test_an_imported_row_is_settled() -> None:
    desired = desired_by_name(desired_resource("a"), desired_resource("b", "a"))
    existing = ExistingObject("phys", {"size": 1}, "hash", {"show": {}}, {"k": "v"})
    rows = [import_row(each, existing, plan_context()) for each in desired.values()]
    assert list_unsettled(rows, desired, plan_context()) == []
    assert [row.physical.id for row in rows] == ["phys", "phys"]
    assert rows[0].physical.properties == {"size": 1}
    assert (rows[0].state.action, rows[0].state.status) == (Action.ADOPT, Status.COMPLETE)


def test_a_changed_definition_is_settled_without_a_job() -> None:
    rows = complete_rows("a", "b")
    desired = desired_by_name(desired_resource("a", text="2"), desired_resource("b", "a"))
    assert list_unsettled(rows, desired, plan_context()) == ["a", "b"]
    settled = settle_rows(rows, desired)
    assert list_unsettled(settled, desired, plan_context()) == []
    assert [row.physical.id for row in settled] == [row.physical.id for row in rows]


def test_what_has_failed_or_is_superfluous_stays_unsettled() -> None:
    rows = complete_rows("a", "b", "c")
    rows[0] = changed_row(rows[0], status=Status.FAILED, action=Action.CHECK)
    desired = desired_by_name(desired_resource("a"), desired_resource("b"))
    settled = settle_rows(rows, desired)
    assert list_unsettled(settled, desired, plan_context()) == ["a", "c"]


def test_what_lacks_a_change_of_a_superseded_update_stays_unsettled() -> None:
    rows = complete_rows("a", "b")
    rows[0] = changed_row(rows[0], applied_hash=None)
    desired = desired_by_name(desired_resource("a", text="2"), desired_resource("b", text="2"))
    settled = settle_rows(rows, desired)
    assert list_unsettled(settled, desired, plan_context()) == ["a"]


def test_a_resource_that_the_goal_adds_is_unsettled() -> None:
    desired = desired_by_name(desired_resource("a"), desired_resource("b"))
    rows = settle_rows(complete_rows("a"), desired)
    assert list_unsettled(rows, desired, plan_context()) == ["b"]


def test_rows_are_placed_in_another_stack() -> None:
    row = changed_row(complete_rows("a")[0], touched_version=7, physical_dependencies=("x",))
    rows = {"stack": [row, *complete_rows("c")], "other": complete_rows("b", stack_id="other")}
    placed = place_rows(rows, [ResourceMove("stack", "a", "other", "x")])
    names = {key: sorted(each.name for each in some) for key, some in placed.items()}
    assert names == {"stack": ["c"], "other": ["b", "x"]}
    (moved,) = [each for each in placed["other"] if each.name == "x"]
    assert (moved.id, moved.stack_id, moved.identity.root_id) == (row.id, "other", "other")
    assert moved.physical.id == row.physical.id
    # A version of the old stack must not look like one of the new stack.
    assert (moved.job.touched_version, moved.physical.dependencies) == (None, ())


def test_names_are_swapped_inside_a_stack() -> None:
    rows = {"stack": complete_rows("a", "b")}
    moves = [ResourceMove("stack", "a", "stack", "b"), ResourceMove("stack", "b", "stack", "a")]
    (placed,) = place_rows(rows, moves).values()
    assert {row.id: row.name for row in placed} == {"stack-a": "b", "stack-b": "a"}
