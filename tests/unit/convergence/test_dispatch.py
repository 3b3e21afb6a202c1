"""Limits on the jobs of a stack and of a project, and the order of dispatch."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import (
    dispatch_round_robin,
    post_first,
    schedule_leaves,
)
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.model.job import JobState, Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

SETTINGS = ConvergenceSettings(jobs_in_flight=4, jobs_on_bus=6, jobs_in_hand=10)
PROJECT_ID = "project-1"


def job_rows(stack: str, first: int, count: int, state: JobState) -> list[Resource]:
    return [
        resource_row(
            f"{stack}-{number}",
            stack_id=stack,
            project_id=PROJECT_ID,
            root_id=stack,
            job_state=state,
        )
        for number in range(first, first + count)
    ]


def store_with(*groups: list[Resource]) -> MemoryStore:
    store = MemoryStore()
    with store.transaction() as tx:
        for name in ("a", "b", "c"):
            tx.stacks.insert(stack_row(name))
        tx.resources.insert([row for group in groups for row in group])
    return store


def posted_ids(outgoing_messages: tuple[OutgoingMessage, ...]) -> list[str]:
    return [job for posting in outgoing_messages for job in posting.resource_ids]


def context() -> TraversalContext:
    return TraversalContext(time_at(1), str, SETTINGS)


def schedule(store: MemoryStore, stack: str, leaves: list[str]) -> list[str]:
    with store.transaction() as tx:
        found = tx.stacks.lock(stack)
        assert isinstance(found, Stack)
        return posted_ids(schedule_leaves(tx, found, leaves, context()))


def dispatch_turn(store: MemoryStore, tree: str) -> list[str]:
    with store.transaction() as tx:
        return posted_ids(dispatch_round_robin(tx, PROJECT_ID, tree, context()))


def job_states(store: MemoryStore) -> dict[str, JobState | None]:
    return {row.id: row.job.state for row in store.tables.resources.values()}


def test_jobs_in_flight_of_a_stack_are_limited() -> None:
    store = store_with(
        job_rows("a", 0, 1, JobState.AWAITING_OBSERVATION),
        job_rows("a", 1, 1, JobState.QUEUED),
        job_rows("a", 2, 4, JobState.BLOCKED),
    )
    leaves = ["a-2", "a-3", "a-4", "a-5"]
    assert schedule(store, "a", leaves) == ["a-1", "a-2", "a-3"]  # who waited longest is first
    found = job_states(store)
    assert [found[f"a-{number}"] for number in range(6)] == [
        JobState.AWAITING_OBSERVATION,
        *[JobState.POSTED] * 3,
        *[JobState.QUEUED] * 2,
    ]


def test_leaves_join_the_queue_of_waiting_leaves() -> None:
    store = store_with(
        job_rows("a", 0, 2, JobState.BLOCKED),
        job_rows("b", 0, 9, JobState.SCHEDULABLE),
    )
    # The tree after this one comes first, and there is room for six.
    assert schedule(store, "a", ["a-0", "a-1"]) == [f"b-{number}" for number in range(6)]
    assert [job_states(store)[name] for name in ("a-0", "a-1")] == [JobState.SCHEDULABLE] * 2


@pytest.mark.parametrize(
    ("on_bus", "in_hand", "taken"),
    [
        pytest.param(0, 0, 6, id="all that may be on the bus"),
        pytest.param(3, 0, 3, id="half of it is gone"),
        pytest.param(4, 0, 0, id="not yet half"),
        pytest.param(0, 7, 3, id="all that may be in workers' hands"),
        pytest.param(0, 10, 0, id="workers have enough"),
        pytest.param(2, 9, 0, id="more than enough"),
    ],
)
def test_posted_jobs_of_a_project_are_limited(on_bus: int, in_hand: int, taken: int) -> None:
    store = store_with(
        job_rows("a", 0, on_bus, JobState.POSTED),
        job_rows("b", 0, in_hand, JobState.RUNNING),
        job_rows("c", 0, 20, JobState.SCHEDULABLE),
    )
    assert len(dispatch_turn(store, "a")) == taken


def test_limits_apply_to_leaves_that_are_posted_immediately() -> None:
    store = store_with(
        job_rows("a", 0, 2, JobState.BLOCKED),
        job_rows("b", 0, 9, JobState.RUNNING),
    )
    assert schedule(store, "a", ["a-0", "a-1"]) == ["a-0"]
    assert job_states(store)["a-1"] is JobState.SCHEDULABLE


@pytest.mark.parametrize(
    ("load", "posted"),
    [
        pytest.param(Workload(), 6, id="all that may be on the bus"),
        pytest.param(Workload(posted=3), 3, id="half of it is gone"),
        pytest.param(Workload(posted=4), 0, id="not yet half"),
        pytest.param(Workload(running=8), 2, id="all that may be in workers' hands"),
        pytest.param(Workload(has_schedulable=True), 0, id="another job waits for its turn"),
    ],
)
def test_leaves_of_new_stacks_are_posted_as_far_as_there_is_room(
    load: Workload, posted: int
) -> None:
    first = [*job_rows("a", 0, 2, JobState.BLOCKED), *job_rows("a", 2, 5, JobState.SCHEDULABLE)]
    second = job_rows("b", 0, 3, JobState.SCHEDULABLE)
    found = post_first([first, second], load, context())
    states = [[row.job.state for row in rows] for rows in found]
    leaves = [JobState.POSTED] * posted + [JobState.SCHEDULABLE] * (8 - posted)
    assert states == [[JobState.BLOCKED] * 2 + leaves[:5], leaves[5:]]


def test_trees_are_dispatched_round_robin() -> None:
    store = store_with(*(job_rows(name, 0, 9, JobState.SCHEDULABLE) for name in "abc"))
    assert dispatch_turn(store, "a") == [f"b-{number}" for number in range(6)]
    posted = [f"b-{number}" for number in range(6)]
    store.tables.update_resources(posted, {"job_state": JobState.AWAITING_OBSERVATION})
    assert dispatch_turn(store, "b") == [f"c-{number}" for number in range(6)]


def test_another_projects_jobs_do_not_count() -> None:
    others = [
        resource_row(f"o-{number}", stack_id="b", project_id="other", job_state=JobState.POSTED)
        for number in range(30)
    ]
    store = store_with(others, job_rows("a", 0, 2, JobState.SCHEDULABLE))
    assert dispatch_turn(store, "a") == ["a-0", "a-1"]
