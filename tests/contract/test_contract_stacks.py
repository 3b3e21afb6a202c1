"""Stacks, goals, contents, events and services: the same answers from every store."""

from __future__ import annotations

import pytest

from heat_convergence.common import errors
from heat_convergence.convergence.model import Action, Desired, JobState, Observed, Status
from heat_convergence.db.counting import counted_statements
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.rows import (
    START,
    at,
    event_row,
    goal_row,
    resource_row,
    service_row,
    stack_row,
)


def stack_of(store, stack_id="stack-1"):
    with store.transaction() as tx:
        return tx.get_stack(stack_id)


def test_a_stack_comes_back_as_it_was_put(store):
    stack = stack_row(
        username="demo",
        timeout_mins=5,
        deadline_at=at(300.000001),
        first_cause="Resource CREATE failed: " + "é😀" * 3000,
        depth=2,
        owner_id="parent",
        owner_resource_id="parent-row",
        root_id="root",
        parent_resource="child",
        disable_rollback=False,
    )
    with store.transaction() as tx:
        tx.insert_stack(stack)
        assert tx.get_stack("stack-1") == stack
    with store.transaction() as tx:
        assert tx.lock_stack("stack-1") == stack
        assert tx.get_stack("stack-2") is None
        assert tx.lock_stack("stack-2") is None


def test_a_live_root_stack_has_its_name_alone_in_its_project(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one", name="web"))
        tx.insert_stack(stack_row("two", name="web", project_id="project-2"))
        tx.insert_stack(stack_row("child", name="web", owner_id="one"))
    with pytest.raises(errors.StackExists, match="web"), store.transaction() as tx:
        tx.insert_stack(stack_row("three", name="web"))
    assert stack_of(store, "three") is None


def test_who_has_no_owner_any_more_takes_its_name(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one", name="web"))
        tx.insert_stack(stack_row("child", name="web-child", owner_id="one"))
        tx.insert_stack(stack_row("other", name="web", owner_id="one"))
        tx.update_stack("child", owner_id=None)
    with pytest.raises(errors.StackExists), store.transaction() as tx:
        tx.insert_stack(stack_row("two", name="web-child"))
    with pytest.raises(errors.StackExists), store.transaction() as tx:
        tx.update_stack("other", owner_id=None)
    assert stack_of(store, "other").owner_id == "one"


def test_a_deleted_stack_gives_its_name_free(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one", name="web"))
        tx.update_stack("one", deleted_at=at(1), status=Status.COMPLETE)
        tx.insert_stack(stack_row("two", name="web"))
    assert stack_of(store, "one").deleted_at == at(1)
    assert stack_of(store, "two").deleted_at is None


def test_update_changes_what_it_names_of_one_stack(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one"))
        tx.insert_stack(stack_row("two"))
        tx.update_stack("one", action=Action.DELETE, version=7, deadline_at=None, tags=("a",))
        tx.update_stack("nobody", version=9)
    assert (stack_of(store, "one").action, stack_of(store, "one").version) == ("DELETE", 7)
    assert stack_of(store, "two") == stack_row("two")


def test_an_exception_undoes_the_whole_transaction(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one"))
        tx.insert_resources([resource_row("a", stack_id="one")])

    def interrupted() -> None:
        with store.transaction() as tx:
            tx.update_stack("one", version=2)
            tx.insert_stack(stack_row("two"))
            tx.update_resources(["a"], version=2)
            tx.put_contents({"h": "text"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stack_of(store, "one").version == 1
    assert stack_of(store, "two") is None
    with store.transaction() as tx:
        assert tx.get_resources(["a"])[0].version == 1
        assert tx.get_contents(["h"]) == {}


def test_goals_are_kept_until_pruned(store):
    goal = goal_row(
        "goal-1",
        environment={"parameters": {"a": [1, None, True]}},
        files={"f": "0" * 64},
        parameters={"p": {"q": "ü"}},
        outputs={"o": {"value": 1}},
        description="d" * 70000,
    )
    with store.transaction() as tx:
        tx.insert_goal(goal)
        tx.insert_goal(goal_row("goal-2"))
        tx.insert_goal(goal_row("other", stack_id="stack-2"))
    with store.transaction() as tx:
        assert tx.get_goal("goal-1") == goal
        tx.prune_goals("stack-1", ("goal-2",))
    with store.transaction() as tx:
        assert tx.get_goal("goal-1") is None
        assert tx.get_goal("goal-2") is not None
        assert tx.get_goal("other") is not None


def test_several_stacks_and_goals_are_read_at_once(store):
    stacks = {key: stack_row(key, name=key) for key in ("one", "two", "three")}
    goals = {key: goal_row(key) for key in ("goal-1", "goal-2", "goal-3")}
    with store.transaction() as tx:
        for stack in stacks.values():
            tx.insert_stack(stack)
        for goal in goals.values():
            tx.insert_goal(goal)
    with store.transaction() as tx:
        found = tx.get_stacks({"one", "three", "nobody"})
        assert found == {key: stacks[key] for key in ("one", "three")}
        found = tx.lean_goals({"goal-2", "goal-3", "nothing"})
        assert found == {key: goals[key] for key in ("goal-2", "goal-3")}
        assert (tx.get_stacks(()), tx.lean_goals(())) == ({}, {})


def test_a_content_is_stored_once(store):
    with store.transaction() as tx:
        tx.put_contents({"a": "first", "b": "😀" * 70000})
        tx.put_contents({"a": "second"})
        tx.put_contents({})
    with store.transaction() as tx:
        assert tx.get_contents(["a", "c"]) == {"a": "first"}
        assert tx.get_contents(["b"])["b"] == "😀" * 70000
        assert tx.get_contents([]) == {}


def test_events_of_any_size_are_taken(store):
    with store.transaction() as tx:
        tx.insert_events([])
        tx.insert_events([event_row("1", reason="x" * 100_000)])
        tx.insert_events([event_row("2", properties={"a": 1}), event_row("3")])


def test_a_service_beats(store):
    store.beat(service_row(), at(1))
    store.beat(service_row(), at(2))
    store.beat(service_row("service-2"), at(3))


def test_overdue_stacks_are_those_in_progress_whose_deadline_has_come(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("late", deadline_at=at(5)))
        tx.insert_stack(stack_row("latest", deadline_at=at(1)))
        tx.insert_stack(stack_row("now", deadline_at=at(10)))
        tx.insert_stack(stack_row("early", deadline_at=at(11)))
        tx.insert_stack(stack_row("done", deadline_at=at(1), status=Status.COMPLETE))
        tx.insert_stack(stack_row("never"))
    assert store.overdue_stacks(at(10), 10) == ["latest", "late", "now"]
    assert store.overdue_stacks(at(10), 1) == ["latest"]


@pytest.mark.parametrize(
    ("job_state", "stalled"),
    [
        ("posted", False),
        ("retry", False),
        ("replace", False),
        ("held", False),
        ("queued", True),
        ("blocked", True),
        ("halted", True),
        (None, True),
    ],
)
def test_a_stalled_stack_has_nothing_in_flight(store, job_state, stalled):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("one", version=3))
        tx.insert_resources([resource_row("a", stack_id="one", job_state=job_state)])
    assert store.stalled_stacks(at(1), 10) == ([("one", 3)] if stalled else [])


def test_a_stack_that_has_just_begun_or_is_at_rest_is_not_stalled(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("new", begun_at=at(5)))
        tx.insert_stack(stack_row("done", status=Status.FAILED))
        tx.insert_stack(stack_row("old", begun_at=START))
        tx.insert_stack(stack_row("older", begun_at=START))
    assert [name for name, _version in sorted(store.stalled_stacks(at(5), 10))] == ["old", "older"]
    assert len(store.stalled_stacks(at(5), 1)) == 1


@pytest.mark.parametrize(
    ("stack", "row", "unwanted"),
    [
        ({}, {}, True),
        ({"status": Status.FAILED}, {}, False),
        ({}, {"job_state": JobState.WATCHED}, False),
        ({}, {"observed": None}, False),
        ({}, {"physical_id": "another"}, False),
        ({"owner_resource_id": None}, {}, False),
    ],
)
def test_a_nested_stack_is_unwanted_when_its_owner_gave_it_up(store, stack, row, unwanted):
    of_stack = {"owner_id": "parent", "owner_resource_id": "a", **stack}
    of_row = {
        "job_state": JobState.HALTED,
        "observed": Observed.BUSY,
        "physical_id": "one",
        **row,
    }
    with store.transaction() as tx:
        tx.insert_stack(stack_row("parent", name="parent"))
        tx.insert_stack(stack_row("one", **of_stack))
        tx.insert_resources([resource_row("a", stack_id="parent", **of_row)])
    assert store.unwanted_stacks(10) == (["one"] if unwanted else [])
    assert store.unwanted_stacks(0) == []


def test_a_tree_is_counted_without_what_is_to_go(store):
    with store.transaction() as tx:
        tx.insert_stack(stack_row("root", name="root"))
        tx.insert_stack(stack_row("below", owner_id="root"))
        tx.insert_resources(
            [
                resource_row("a", stack_id="root", root_id="root"),
                resource_row("b", stack_id="below", root_id="root"),
                resource_row("c", stack_id="below", root_id="root", desired=Desired.ABSENT),
            ]
        )
    with store.transaction() as tx:
        assert (tx.count_tree("root"), tx.count_tree("below")) == (2, 0)


def test_stacks_below_come_from_the_deepest_up(given):
    def below(name, depth, **more):
        more |= {"owner_id": "stack-1", "root_id": "stack-1", "depth": depth}
        return stack_row(name, name=name, **more)

    given.stack(below("b", 1))
    given.stack(below("c", 2))
    given.stack(below("a", 2))
    given.stack(below("gone", 3, deleted_at=at(2)))
    given.stack(stack_row("stack-2", name="other"))
    with given.store.transaction() as tx:
        assert [stack.id for stack in tx.stacks_below("stack-1")] == ["a", "c", "b"]
        assert tx.stacks_below("stack-2") == []


def _tree_that_waits(store):
    """root > n: middle > m: deep; what is HELD stands in each, and in another tree."""
    def below(name, over, **more):
        owner = {"owner_id": over, "owner_resource_id": f"row-{name}", "parent_resource": name}
        return stack_row(f"at-{name}", name=name, root_id="root", **owner, **more)

    def held(row_id, stack_id, **more):
        its = {"project_id": "project-1", "root_id": "root", "hook": "pre-create"}
        return resource_row(
            row_id, stack_id=stack_id, **{**its, "job_state": JobState.HELD, **more}
        )

    with store.transaction() as tx:
        tx.insert_stack(stack_row("root", name="root"))
        tx.insert_stack(below("n", "root", depth=1))
        tx.insert_stack(below("m", "at-n", depth=2))
        tx.insert_stack(below("done", "root", depth=1, status=Status.COMPLETE))
        tx.insert_stack(stack_row("other", name="other"))
        tx.insert_resources(
            [
                resource_row("row-n", name="n", stack_id="root", root_id="root"),
                resource_row("row-m", name="m", stack_id="at-n", root_id="root"),
                held("1", "at-m", name="x", guards=("pre-create",)),
                held("2", "at-n", name="y", hook="post-create"),
                held("3", "root", name="a"),
                held("4", "at-done", name="z"),
                held("5", "root", name="ready", job_state=None),
                held("6", "other", name="b", root_id="other"),
            ]
        )


def test_what_waits_is_told_of_every_stack_above(store):
    _tree_that_waits(store)
    with store.transaction() as tx:
        asked = [tx.get_stack(key) for key in ("root", "at-n", "at-done")]
        assert [(each.stack_id, "/".join(each.path), each.hook) for each in tx.places(asked)] == [
            ("at-n", "m/x", "pre-create"),
            ("at-n", "y", "post-create"),
            ("root", "a", "pre-create"),
            ("root", "n/m/x", "pre-create"),
            ("root", "n/y", "post-create"),
        ]
        assert tx.places([]) == []
        assert tx.lock_jobs(["1"])[0].guards == ("pre-create",)


def test_what_waits_is_told_by_one_statement(database):
    store = SqlStore(database)
    _tree_that_waits(store)
    with store.transaction() as tx:
        root, done = tx.get_stack("root"), tx.get_stack("at-done")
        with counted_statements(database.engine) as count:
            tx.places([root])
        assert count.total == 1
        with counted_statements(database.engine) as count:
            assert tx.places([done]) == []
        assert count.total == 0


def test_owners_come_from_the_nearest_up(store):
    _tree_that_waits(store)
    with store.transaction() as tx:
        assert [row.id for row in tx.owners_above("at-m")] == ["row-m", "row-n"]
        assert tx.owners_above("root") == []
