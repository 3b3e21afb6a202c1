"""The watch: groups of resources that are read together, and their observations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    MassLossBreaker,
    ResourceObservation,
    StackDriftControl,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

TYPE = "Sim::Resource"
OTHER = "Sim::Other"
COMPLETE = {
    "physical_id": "p",
    "job": None,
    "job_state": None,
    "status": Status.COMPLETE,
    "project_id": "project-1",
}


def complete_stack(stack_id="stack-1", **values):
    return stack_row(stack_id, **{"status": Status.COMPLETE, **values})


def group(**values):
    defaults = {"project_id": "project-1", "implementation": TYPE}
    return WatchGroup(**{**defaults, "interval_s": 15.0, "next_at": time_at(15), **values})


def observation(resource_id="a", **values):
    defaults = {
        "resource_id": resource_id,
        "stack_id": "stack-1",
        "project_id": "project-1",
        "implementation": TYPE,
        "status": DriftStatus.IN_SYNC,
        "values_hash": "0" * 64,
        "since": time_at(20),
        "observed_at": time_at(20),
    }
    return ResourceObservation(**{**defaults, **values})


def listed(store, implementations=(TYPE,)):
    found = store.watch.list_watched("project-1", implementations)
    return {each.row.id: each.recorded for each in found.resources}


def test_groups_are_added_once_for_types_that_can_be_watched(seeder):
    seeder.stack(complete_stack("stack-2", project_id="project-2"))
    seeder.resources(
        resource_row("a", **COMPLETE),
        resource_row("b", **COMPLETE),
        resource_row("c", **COMPLETE | {"implementation": OTHER}),
        resource_row("d", **COMPLETE | {"implementation": "Sim::Unwatched"}),
        resource_row("e", **COMPLETE | {"physical_id": None, "implementation": "Sim::Third"}),
        resource_row("f", **COMPLETE | {"stack_id": "stack-2", "project_id": "project-2"}),
    )
    watch = seeder.store.watch
    arguments = (["stack-1", "stack-2"], [TYPE, OTHER, "Sim::Third"], time_at(15), 15.0)
    assert watch.get_next_time() is None
    assert watch.add_groups(*arguments) == 3
    assert watch.add_groups(*arguments) == 0
    assert watch.get_next_time() == time_at(15)
    keys = [each.key for each in watch.take_due_groups(time_at(15), time_at(60), 9)]
    assert keys == [("project-1", OTHER), ("project-1", TYPE), ("project-2", TYPE)]


def test_due_group_is_taken_by_one_observer(seeder):
    seeder.resources(resource_row("a", **COMPLETE))
    watch = seeder.store.watch
    watch.add_groups(["stack-1"], [TYPE], time_at(15), 15.0)
    assert watch.take_due_groups(time_at(14), time_at(60), 9) == []
    assert watch.take_due_groups(time_at(15), time_at(60), 9) == [group()]
    assert watch.take_due_groups(time_at(15), time_at(60), 9) == []
    assert watch.get_next_time() == time_at(60)


def test_complete_stacks_are_listed_in_pages(seeder):
    seeder.stack(complete_stack("stack-2"))
    seeder.stack(complete_stack("stack-3"))
    seeder.stack(complete_stack("stack-4", deleted_at=time_at(1)))
    watch = seeder.store.watch
    assert watch.list_complete_stacks("", 1) == ["stack-2"]
    assert watch.list_complete_stacks("stack-2", 9) == ["stack-3"]
    assert watch.list_complete_stacks("stack-3", 9) == []


def test_resources_at_rest_in_complete_stacks_are_watched(seeder):
    seeder.stack(complete_stack("stack-2"))
    at_rest = COMPLETE | {"stack_id": "stack-2"}
    seeder.resources(
        resource_row("a", **COMPLETE),  # of a stack in progress
        resource_row("b", **at_rest),
        resource_row("c", **at_rest | {"job_state": JobState.CANCELLED}),
        resource_row("d", **at_rest | {"physical_id": None}),
        resource_row("e", **at_rest | {"desired": DesiredState.ABSENT}),
        resource_row("f", **at_rest | {"status": Status.FAILED}),
        resource_row("g", **at_rest | {"project_id": "project-2"}),
        resource_row("h", **at_rest | {"implementation": OTHER}),
    )
    assert listed(seeder.store) == {"b": None}
    assert listed(seeder.store, (TYPE, OTHER)) == {"b": None, "h": None}
    found = seeder.store.watch.list_watched("project-1", (TYPE, "Sim::Third"))
    assert found.existing == {TYPE}
    assert found.unread == {TYPE}
    assert seeder.store.watch.list_watched("project-1", (OTHER,)).unread == frozenset()


def test_observation_is_recorded_and_replaced(seeder):
    seeder.stack(complete_stack("stack-2"))
    seeder.resources(resource_row("a", **COMPLETE | {"stack_id": "stack-2"}))
    watch = seeder.store.watch
    watch.add_groups(["stack-2"], [TYPE], time_at(15), 15.0)
    first = observation(stack_id="stack-2")
    later = replace(
        first,
        status=DriftStatus.MODIFIED,
        properties=({"property": "size", "applied": 1, "observed": 2},),
        reason="changed",
        since=time_at(40),
        observed_at=time_at(40),
        sensitive=True,
        policy=DriftPolicy.REPAIR,
    )
    for each in (first, later):
        assert watch.record(group(observed_at=time_at(20)), WatchResult((each,))) == 1
        assert listed(seeder.store) == {"a": each}
    (taken,) = watch.take_due_groups(time_at(15), time_at(60), 9)
    assert taken.observed_at == time_at(20)


def test_observation_from_before_an_action_is_dropped(seeder):
    seeder.stack(complete_stack("stack-2"))
    changed = COMPLETE | {"stack_id": "stack-2", "updated_at": time_at(5)}
    seeder.resources(
        resource_row("a", **changed),
        resource_row("b", **changed | {"job_state": JobState.POSTED}),
        resource_row("c", **COMPLETE),
    )
    watch = seeder.store.watch
    found = [
        observation("a", stack_id="stack-2"),
        observation("b", stack_id="stack-2", resource_updated_at=time_at(5)),
        observation("c"),
        observation("gone"),
    ]
    assert watch.record(group(), WatchResult(tuple(found))) == 0
    current = observation("a", stack_id="stack-2", resource_updated_at=time_at(5))
    assert watch.record(group(), WatchResult((current,))) == 1


def test_what_is_left_of_deleted_resources_is_obsolete(seeder):
    seeder.stack(complete_stack("stack-2"))
    seeder.resources(resource_row("a", **COMPLETE | {"stack_id": "stack-2"}))
    watch = seeder.store.watch
    watch.add_groups(["stack-2"], [TYPE], time_at(15), 15.0)
    watch.record(group(), WatchResult((observation(stack_id="stack-2"),)))
    with seeder.store.transaction() as tx:
        tx.resources.delete(["a"])
    found = watch.list_watched("project-1", (TYPE,))
    assert (found.resources, dict(found.obsolete), found.existing) == ((), {TYPE: ("a",)}, set())
    watch.record(group(), WatchResult(obsolete=("a",), is_empty=True))
    assert watch.list_watched("project-1", (TYPE,)).obsolete == {}
    assert watch.get_next_time() is None


def test_change_of_a_control_keeps_what_it_does_not_name(seeder):
    watch = seeder.store.watch
    expected = StackDriftControl(stack_id="stack-1")
    assert watch.get_control("stack-1") == expected
    for values in ({"policy": DriftPolicy.REPAIR}, {"paused": True}, {"policy": None}):
        expected = replace(expected, **values)
        assert watch.change_control("stack-1", **values) == expected
        assert watch.get_control("stack-1") == expected


def test_parallel_changes_of_a_control_are_all_kept(seeder):
    watch = seeder.store.watch

    def change(values):
        retry_transaction(partial(watch.change_control, "stack-1", **values), wait=lambda _s: None)

    with ThreadPoolExecutor(2) as pool:
        for policy, paused in ((DriftPolicy.REPAIR, True), (DriftPolicy.IGNORE, False)) * 10:
            list(pool.map(change, ({"policy": policy}, {"paused": paused})))
            expected = StackDriftControl(stack_id="stack-1", policy=policy, paused=paused)
            assert watch.get_control("stack-1") == expected


def test_policy_of_the_stack_counts_before_that_of_its_root(seeder):
    for stack_id in ("stack-2", "stack-3"):
        seeder.stack(complete_stack(stack_id, root_id="stack-9", owner_id="stack-9"))
    seeder.resources(
        resource_row("a", **COMPLETE | {"stack_id": "stack-2"}),
        resource_row("b", **COMPLETE | {"stack_id": "stack-3"}),
    )
    watch = seeder.store.watch
    watch.change_control("stack-9", policy=DriftPolicy.REPAIR)
    watch.change_control("stack-3", policy=DriftPolicy.IGNORE)
    found = watch.list_watched("project-1", (TYPE,))
    policies = {each.row.id: each.stack_policy for each in found.resources}
    assert policies == {"a": DriftPolicy.REPAIR, "b": DriftPolicy.IGNORE}


def breaker(breaker_id="b", **values):
    defaults = {"project_id": "project-1", "implementation": TYPE, "region": ""}
    return MassLossBreaker(
        **{"id": breaker_id, **defaults, "lost": 10, "total": 20, "since": time_at(20), **values}
    )


def add_group(seeder):
    seeder.resources(resource_row("a", **COMPLETE))
    seeder.store.watch.add_groups(["stack-1"], [TYPE], time_at(15), 15.0)


def test_breakers_are_stored_confirmed_and_closed(seeder):
    add_group(seeder)
    watch = seeder.store.watch
    first, other = breaker(), breaker("c", region="two", implementation=OTHER)
    foreign = breaker("d", project_id="project-2")
    watch.record(group(), WatchResult(open_breakers=(first, other, foreign)))
    assert watch.list_breakers("project-1") == [other, first]
    assert watch.list_watched("project-1", (TYPE,)).breakers == (first,)
    assert watch.confirm_breakers("project-1", ["b", "d", "e"]) == 1
    assert watch.list_breakers("project-1") == [other, first]
    assert watch.confirm_breakers("project-1", ["b"]) == 1
    assert watch.list_breakers("project-2") == [foreign]
    # The read that stores new numbers has not seen the confirmation.
    watch.record(group(), WatchResult(open_breakers=(replace(first, lost=11, total=21),)))
    assert watch.list_breakers("project-1")[1] == breaker(lost=11, total=21, confirmed=True)
    watch.record(group(), WatchResult(closed_breakers=("b",)))
    assert watch.list_breakers("project-1") == [other]


def test_one_breaker_is_opened_for_each_type_and_region(seeder):
    add_group(seeder)
    watch = seeder.store.watch
    first, region = breaker(), breaker("c", region="two")
    watch.record(group(), WatchResult(open_breakers=(first,)))
    watch.record(group(), WatchResult(open_breakers=(breaker("d", lost=11), region)))
    assert watch.list_breakers("project-1") == [first, region]


def test_reads_that_end_at_the_same_time_open_one_breaker(seeder):
    add_group(seeder)
    watch = seeder.store.watch

    def open_breaker(breaker_id):
        result = WatchResult(open_breakers=(breaker(breaker_id),))
        retry_transaction(partial(watch.record, group(), result), wait=lambda _s: None)

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            list(pool.map(open_breaker, (f"b{number}", f"c{number}")))
            (found,) = watch.list_breakers("project-1")
            watch.record(group(), WatchResult(closed_breakers=(found.id,)))


def test_breakers_go_with_the_last_resource_of_their_type(seeder):
    add_group(seeder)
    watch = seeder.store.watch
    other = breaker("c", implementation=OTHER)
    opened = (breaker(), breaker("d", region="two"), other)
    watch.record(group(), WatchResult(open_breakers=opened))
    watch.record(group(), WatchResult(is_empty=True))
    assert watch.list_breakers("project-1") == [other]
    # A read that has begun before, and ends now, opens none that no read would close.
    watch.record(group(), WatchResult(open_breakers=(breaker(),)))
    assert watch.list_breakers("project-1") == [other]
