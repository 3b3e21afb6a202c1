"""How many jobs of a stack and of a project may be where, and whose are next."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.dispatch import Posting, post_leaves, take_turns
from heat_convergence.convergence.model import JobState, Resource, Stack
from heat_convergence.convergence.ports import Settings
from heat_convergence.testing.rows import at, resource_row, stack_row
from heat_convergence.testing.store import MemoryStore

SETTINGS = Settings(jobs_in_flight=4, jobs_on_bus=6, jobs_in_hand=10)
P = "project-1"


def jobs(stack: str, first: int, count: int, state: JobState) -> list[Resource]:
    return [
        resource_row(
            f"{stack}-{number}", stack_id=stack, project_id=P, root_id=stack, job_state=state
        )
        for number in range(first, first + count)
    ]


def stored(*groups: list[Resource]) -> MemoryStore:
    store = MemoryStore()
    with store.transaction() as tx:
        for name in ("a", "b", "c"):
            tx.insert_stack(stack_row(name))
        tx.insert_resources([row for group in groups for row in group])
    return store


def posted(postings: tuple[Posting, ...]) -> list[str]:
    return [job for posting in postings for job in posting.resource_ids]


def start(store: MemoryStore, stack: str, leaves: list[str]) -> list[str]:
    with store.transaction() as tx:
        found = tx.lock_stack(stack)
        assert isinstance(found, Stack)
        return posted(post_leaves(tx, found, leaves, SETTINGS, at(1)))


def turn(store: MemoryStore, tree: str) -> list[str]:
    with store.transaction() as tx:
        return posted(take_turns(tx, P, tree, SETTINGS, at(1)))


def states(store: MemoryStore) -> dict[str, JobState | None]:
    return {row.id: row.job_state for row in store.tables.resources.values()}


def test_a_stack_has_no_more_jobs_in_flight_than_it_may() -> None:
    store = stored(
        jobs("a", 0, 1, JobState.WATCHED),
        jobs("a", 1, 1, JobState.QUEUED),
        jobs("a", 2, 4, JobState.BLOCKED),
    )
    leaves = ["a-2", "a-3", "a-4", "a-5"]
    assert start(store, "a", leaves) == ["a-1", "a-2", "a-3"]  # who waited longest is first
    found = states(store)
    assert [found[f"a-{number}"] for number in range(6)] == [
        JobState.WATCHED, *[JobState.POSTED] * 3, *[JobState.QUEUED] * 2
    ]


def test_leaves_line_up_where_others_wait_already() -> None:
    store = stored(
        jobs("a", 0, 2, JobState.BLOCKED),
        jobs("b", 0, 9, JobState.DUE),
    )
    # The tree after this one comes first, and there is room for six.
    assert start(store, "a", ["a-0", "a-1"]) == [f"b-{number}" for number in range(6)]
    assert [states(store)[name] for name in ("a-0", "a-1")] == [JobState.DUE] * 2


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
def test_a_project_has_no_more_jobs_posted_than_it_may(
    on_bus: int, in_hand: int, taken: int
) -> None:
    store = stored(
        jobs("a", 0, on_bus, JobState.POSTED),
        jobs("b", 0, in_hand, JobState.BEGUN),
        jobs("c", 0, 20, JobState.DUE),
    )
    assert len(turn(store, "a")) == taken


def test_the_same_holds_for_leaves_that_go_straight_onto_the_bus() -> None:
    store = stored(
        jobs("a", 0, 2, JobState.BLOCKED),
        jobs("b", 0, 9, JobState.BEGUN),
    )
    assert start(store, "a", ["a-0", "a-1"]) == ["a-0"]
    assert states(store)["a-1"] is JobState.DUE


def test_trees_come_in_turn() -> None:
    store = stored(*(jobs(name, 0, 9, JobState.DUE) for name in "abc"))
    assert turn(store, "a") == [f"b-{number}" for number in range(6)]
    with store.transaction() as tx:
        tx.update_resources([f"b-{number}" for number in range(6)], job_state=JobState.WATCHED)
    assert turn(store, "b") == [f"c-{number}" for number in range(6)]


def test_another_projects_jobs_do_not_count() -> None:
    others = [
        resource_row(f"o-{number}", stack_id="b", project_id="other", job_state=JobState.POSTED)
        for number in range(30)
    ]
    store = stored(others, jobs("a", 0, 2, JobState.DUE))
    assert turn(store, "a") == ["a-0", "a-1"]
