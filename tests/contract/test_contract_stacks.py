"""Stacks, goals, contents, events and services: the same results from every store."""

from __future__ import annotations

import pytest

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.sample_rows import (
    START_TIME,
    event_row,
    goal_row,
    resource_row,
    service_row,
    stack_row,
    time_at,
)
from heat_convergence.testing.statement_counter import count_statements


def stack_of(store, stack_id="stack-1"):
    with store.transaction() as tx:
        return tx.stacks.get(stack_id)


def test_stack_round_trip(store):
    stack = stack_row(
        username="demo",
        timeout_mins=5,
        deadline_at=time_at(300.000001),
        first_failure_reason="Resource CREATE failed: " + "é😀" * 3000,
        depth=2,
        owner_id="parent",
        owner_resource_id="parent-row",
        root_id="root",
        parent_resource="child",
        disable_rollback=False,
    )
    with store.transaction() as tx:
        tx.stacks.insert(stack)
        assert tx.stacks.get("stack-1") == stack
    with store.transaction() as tx:
        assert tx.stacks.lock("stack-1") == stack
        assert tx.stacks.get("stack-2") is None
        assert tx.stacks.lock("stack-2") is None


def test_live_root_stack_name_is_unique_in_project(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", name="web"))
        tx.stacks.insert(stack_row("two", name="web", project_id="project-2"))
        tx.stacks.insert(stack_row("child", name="web", owner_id="one"))
    with pytest.raises(errors.StackExists, match="web"), store.transaction() as tx:
        tx.stacks.insert(stack_row("three", name="web"))
    assert stack_of(store, "three") is None


def test_promoted_root_stack_claims_its_name(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", name="web"))
        tx.stacks.insert(stack_row("child", name="web-child", owner_id="one"))
        tx.stacks.insert(stack_row("other", name="web", owner_id="one"))
        tx.stacks.update("child", owner_id=None)
    with pytest.raises(errors.StackExists), store.transaction() as tx:
        tx.stacks.insert(stack_row("two", name="web-child"))
    with pytest.raises(errors.StackExists), store.transaction() as tx:
        tx.stacks.update("other", owner_id=None)
    assert stack_of(store, "other").owner_id == "one"


def test_deleted_stack_releases_its_name(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", name="web"))
        tx.stacks.update("one", deleted_at=time_at(1), status=Status.COMPLETE)
        tx.stacks.insert(stack_row("two", name="web"))
    assert stack_of(store, "one").deleted_at == time_at(1)
    assert stack_of(store, "two").deleted_at is None


def test_update_sets_columns_of_one_stack(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one"))
        tx.stacks.insert(stack_row("two"))
        tx.stacks.update("one", action=Action.DELETE, version=7, deadline_at=None, tags=("a",))
        tx.stacks.update("nobody", version=9)
    assert (stack_of(store, "one").action, stack_of(store, "one").version) == ("DELETE", 7)
    with store.transaction() as tx:
        assert (tx.stacks.get_tags("one"), tx.stacks.get_tags("two")) == (("a",), ())
    assert stack_of(store, "two") == stack_row("two")


def test_exception_rolls_back_transaction(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one"))
        tx.resources.insert([resource_row("a", stack_id="one")])

    def interrupted() -> None:
        with store.transaction() as tx:
            tx.stacks.update("one", version=2)
            tx.stacks.insert(stack_row("two"))
            tx.resources.update(["a"], version=2)
            tx.contents.put({"h": "text"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stack_of(store, "one").version == 1
    assert stack_of(store, "two") is None
    with store.transaction() as tx:
        assert tx.resources.get(["a"])[0].job.version == 1
        assert tx.contents.get(["h"]) == {}


def test_goals_are_kept_until_deleted_by_exclusion(store):
    goal = goal_row(
        "goal-1",
        environment={"parameters": {"a": [1, None, True]}},
        files={"f": "0" * 64},
        parameters={"p": {"q": "ü"}},
        outputs={"o": {"value": 1}},
        description="d" * 70000,
    )
    with store.transaction() as tx:
        tx.goals.insert(goal)
        tx.goals.insert(goal_row("goal-2"))
        tx.goals.insert(goal_row("other", stack_id="stack-2"))
    with store.transaction() as tx:
        assert tx.goals.get("goal-1") == goal
        tx.goals.delete_except(["stack-1"], ("goal-2",))
    with store.transaction() as tx:
        assert tx.goals.get("goal-1") is None
        assert tx.goals.get("goal-2") is not None
        assert tx.goals.get("other") is not None


def test_several_stacks_and_goals_are_inserted_together(store):
    nested = [
        stack_row("one", name="n", owner_id="root", tags=("b", "a")),
        stack_row("two", name="n", owner_id="root"),
    ]
    goals = [goal_row("goal-1"), goal_row("goal-2", sensitive=True)]
    with store.transaction() as tx:
        tx.stacks.insert(*nested)
        tx.goals.insert(*goals)
    with store.transaction() as tx:
        assert [tx.stacks.get(each.id).name for each in nested] == ["n", "n"]
        assert [tx.stacks.get_tags(each.id) for each in nested] == [("b", "a"), ()]
        assert tx.goals.get_rows(["goal-1", "goal-2"]) == {each.id: each for each in goals}


def test_get_many_stacks_and_goals(store):
    stacks = {key: stack_row(key, name=key) for key in ("one", "two", "three")}
    goals = {key: goal_row(key) for key in ("goal-1", "goal-2", "goal-3")}
    with store.transaction() as tx:
        for stack in stacks.values():
            tx.stacks.insert(stack)
        for goal in goals.values():
            tx.goals.insert(goal)
    with store.transaction() as tx:
        found = tx.stacks.get_many({"one", "three", "nobody"})
        assert found == {key: stacks[key] for key in ("one", "three")}
        found = tx.goals.get_rows({"goal-2", "goal-3", "nothing"})
        assert found == {key: goals[key] for key in ("goal-2", "goal-3")}
        assert (tx.stacks.get_many(()), tx.goals.get_rows(())) == ({}, {})


def test_content_is_stored_once(store):
    with store.transaction() as tx:
        tx.contents.put({"a": "first", "b": "😀" * 70000})
        tx.contents.put({"a": "second"})
        tx.contents.put({})
    with store.transaction() as tx:
        assert tx.contents.get(["a", "c"]) == {"a": "first"}
        assert tx.contents.get(["b"])["b"] == "😀" * 70000
        assert tx.contents.get([]) == {}


def test_events_of_any_size_are_stored(seeder):
    with seeder.store.transaction() as tx:
        tx.events.insert([])
        tx.events.insert([event_row("1", reason="x" * 100_000)])
        tx.events.insert([event_row("2", properties={"a": 1}), event_row("3")])
    assert seeder.events() == [
        event_row("1", reason="x" * 100_000),
        event_row("2"),
        event_row("3"),
    ]


def test_service_heartbeat(seeder):
    workers = seeder.store.workers
    workers.record_heartbeat(service_row(), time_at(1))
    states = {"open": [{"service": "compute"}], "slow": []}
    workers.record_heartbeat(service_row(endpoint_states=states), time_at(2))
    workers.record_heartbeat(service_row("service-2"), time_at(3))
    assert seeder.services() == [
        service_row(updated_at=time_at(2), endpoint_states=states),
        service_row("service-2", updated_at=time_at(3)),
    ]
    workers.remove_worker("service-1")
    workers.remove_worker("unknown")
    assert [each.id for each in seeder.services()] == ["service-2"]


def test_overdue_stacks_are_in_progress_past_deadline(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("late", deadline_at=time_at(5)))
        tx.stacks.insert(stack_row("latest", deadline_at=time_at(1)))
        tx.stacks.insert(stack_row("now", deadline_at=time_at(10)))
        tx.stacks.insert(stack_row("early", deadline_at=time_at(11)))
        tx.stacks.insert(stack_row("done", deadline_at=time_at(1), status=Status.COMPLETE))
        tx.stacks.insert(stack_row("never"))
    assert store.sweeps.find_overdue_stacks(time_at(10), 10) == ["latest", "late", "now"]
    assert store.sweeps.find_overdue_stacks(time_at(10), 1) == ["latest"]


@pytest.mark.parametrize(
    ("job_state", "stalled"),
    [
        ("due", False),
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
def test_stalled_stack_has_no_job_in_flight(store, job_state, stalled):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", version=3))
        tx.resources.insert([resource_row("a", stack_id="one", job_state=job_state)])
    assert store.sweeps.find_stalled_stacks(time_at(1), 10) == ([("one", 3)] if stalled else [])


def test_new_or_idle_stack_is_not_stalled(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("new", started_at=time_at(5)))
        tx.stacks.insert(stack_row("done", status=Status.FAILED))
        tx.stacks.insert(stack_row("old", started_at=START_TIME))
        tx.stacks.insert(stack_row("older", started_at=START_TIME))
    assert [
        name for name, _version in sorted(store.sweeps.find_stalled_stacks(time_at(5), 10))
    ] == [
        "old",
        "older",
    ]
    assert len(store.sweeps.find_stalled_stacks(time_at(5), 1)) == 1


@pytest.mark.parametrize(
    ("stack", "row", "cancelled"),
    [
        ({}, {}, True),
        ({"status": Status.FAILED}, {}, False),
        ({}, {"job_state": JobState.AWAITING_OBSERVATION}, False),
        ({}, {"observed": None}, False),
        ({}, {"physical_id": "another"}, False),
        ({"owner_resource_id": None}, {}, False),
    ],
)
def test_nested_stack_is_found_when_parent_resource_is_cancelled(store, stack, row, cancelled):
    of_stack = {"owner_id": "parent", "owner_resource_id": "a", **stack}
    of_row = {
        "job_state": JobState.CANCELLED,
        "observed": ObservedState.BUSY,
        "physical_id": "one",
        **row,
    }
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("parent", name="parent"))
        tx.stacks.insert(stack_row("one", **of_stack))
        tx.resources.insert([resource_row("a", stack_id="parent", **of_row)])
    assert store.sweeps.find_cancelled_nested_stacks(10) == (["one"] if cancelled else [])
    assert store.sweeps.find_cancelled_nested_stacks(0) == []


def test_tree_resource_count_excludes_absent_resources(store):
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("root", name="root"))
        tx.stacks.insert(stack_row("nested", owner_id="root"))
        tx.resources.insert(
            [
                resource_row("a", stack_id="root", root_id="root"),
                resource_row("b", stack_id="nested", root_id="root"),
                resource_row("c", stack_id="nested", root_id="root", desired=DesiredState.ABSENT),
            ]
        )
    with store.transaction() as tx:
        assert (tx.tree.count_resources("root"), tx.tree.count_resources("nested")) == (2, 0)


def test_tree_resource_count_excludes_nested_stacks_that_are_to_be_deleted(store):
    def row(name, stack_id, **more):
        return resource_row(name, stack_id=stack_id, root_id="root", **more)

    def nested(name, owner_id, owner_resource_id):
        owner = {"owner_id": owner_id, "owner_resource_id": owner_resource_id}
        return stack_row(name, name=name, root_id="root", **owner)

    with store.transaction() as tx:
        tx.stacks.insert(stack_row("root", name="root"))
        kept, removed = row("a", "root"), row("b", "root", desired=DesiredState.ABSENT)
        child = row("c", "removed")
        tx.stacks.insert(nested("kept", "root", kept.id))
        tx.stacks.insert(nested("removed", "root", removed.id))
        tx.stacks.insert(nested("grandchild", "removed", child.id))
        tx.resources.insert([kept, removed, child, row("d", "kept"), row("e", "grandchild")])
    with store.transaction() as tx:
        assert tx.tree.count_resources("root") == 2


def test_descendants_are_listed_deepest_first(seeder):
    def nested(name, depth, **more):
        more |= {"owner_id": "stack-1", "root_id": "stack-1", "depth": depth}
        return stack_row(name, name=name, **more)

    seeder.stack(nested("b", 1))
    seeder.stack(nested("c", 2))
    seeder.stack(nested("a", 2))
    seeder.stack(nested("deleted", 3, deleted_at=time_at(2)))
    seeder.stack(stack_row("stack-2", name="other"))
    with seeder.store.transaction() as tx:
        assert [stack.id for stack in tx.tree.list_descendants("stack-1")] == ["a", "c", "b"]
        assert tx.tree.list_descendants("stack-2") == []


def _insert_waiting_tree(store):
    """Insert root > n > m with resources at breakpoints in each, and in another tree."""

    def nested(name, parent, **more):
        owner = {"owner_id": parent, "owner_resource_id": f"row-{name}", "parent_resource": name}
        return stack_row(f"at-{name}", name=name, root_id="root", **owner, **more)

    def waiting(row_id, stack_id, **more):
        columns = {"project_id": "project-1", "root_id": "root", "hook": "pre-create"}
        return resource_row(
            row_id, stack_id=stack_id, **{**columns, "job_state": JobState.AT_BREAKPOINT, **more}
        )

    with store.transaction() as tx:
        tx.stacks.insert(stack_row("root", name="root"))
        tx.stacks.insert(nested("n", "root", depth=1))
        tx.stacks.insert(nested("m", "at-n", depth=2))
        tx.stacks.insert(nested("done", "root", depth=1, status=Status.COMPLETE))
        tx.stacks.insert(stack_row("other", name="other"))
        tx.resources.insert(
            [
                resource_row("row-n", name="n", stack_id="root", root_id="root"),
                resource_row("row-m", name="m", stack_id="at-n", root_id="root"),
                waiting("1", "at-m", name="x", hooks_and_restrictions=("pre-create",)),
                waiting("2", "at-n", name="y", hook="post-create"),
                waiting("3", "root", name="a"),
                waiting("4", "at-done", name="z"),
                waiting("5", "root", name="ready", job_state=None),
                waiting("6", "other", name="b", root_id="other"),
            ]
        )


def test_breakpoints_are_reported_for_all_ancestors(store):
    _insert_waiting_tree(store)
    with store.transaction() as tx:
        requested = [tx.stacks.get(key) for key in ("root", "at-n", "at-done")]
        assert [
            (each.stack_id, "/".join(each.path), each.hook)
            for each in tx.tree.find_breakpoint_locations(requested)
        ] == [
            ("at-n", "m/x", "pre-create"),
            ("at-n", "y", "post-create"),
            ("root", "a", "pre-create"),
            ("root", "n/m/x", "pre-create"),
            ("root", "n/y", "post-create"),
        ]
        assert tx.tree.find_breakpoint_locations([]) == []
        assert tx.resources.lock(["1"])[0].desired.hooks_and_restrictions == ("pre-create",)


def test_breakpoints_are_found_with_one_statement(database):
    store = SqlStore(database)
    _insert_waiting_tree(store)
    with store.transaction() as tx:
        root, done = tx.stacks.get("root"), tx.stacks.get("at-done")
        with count_statements(database.engine) as count:
            tx.tree.find_breakpoint_locations([root])
        assert count.total == 1
        with count_statements(database.engine) as count:
            assert tx.tree.find_breakpoint_locations([done]) == []
        assert count.total == 0


def test_ancestor_resources_are_nearest_first(store):
    _insert_waiting_tree(store)
    with store.transaction() as tx:
        assert [row.id for row in tx.tree.list_ancestor_resources("at-m")] == ["row-m", "row-n"]
        assert tx.tree.list_ancestor_resources("root") == []
