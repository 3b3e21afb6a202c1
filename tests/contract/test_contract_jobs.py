"""Jobs: room in flight, what is lost, what is due, whose leases live on."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.model import JobState, Resource
from heat_convergence.convergence.ports import Sweepable, Workload
from heat_convergence.testing.rows import at, resource_row, stack_row

POSTED = JobState.POSTED


def test_what_a_stack_has_under_way(given):
    given.stack(stack_row("stack-2"))
    given.resources(
        resource_row("a", job_state=POSTED),
        resource_row("b", job_state=JobState.RETRY),
        resource_row("c", job_state=JobState.REPLACE),
        resource_row("d", job_state=JobState.QUEUED),
        resource_row("e", job_state=POSTED, stack_id="stack-2"),
        resource_row("f", job=None, job_state=None),
        resource_row("g", job_state=POSTED),
        resource_row("h", job_state=JobState.BLOCKED),
        resource_row("i", job_state=JobState.HALTED),
        resource_row("j", job_state=JobState.DUE),
        resource_row("k", job_state=JobState.BEGUN),
        resource_row("l", job_state=JobState.WATCHED),
    )
    with given.store.transaction() as tx:
        one, two, three = (tx.workload("nobody", f"stack-{n}") for n in (1, 2, 3))
    assert (one, two, three) == (
        Workload(in_flight=7, queued=True), Workload(in_flight=1), Workload()
    )


def test_queued_jobs_are_taken_oldest_first(given):
    given.stack(stack_row("stack-2"))
    given.resources(
        *(resource_row(name, job_state=JobState.QUEUED) for name in "cab"),
        resource_row("0", job_state=POSTED),
        resource_row("1", job_state=JobState.QUEUED, stack_id="stack-2"),
    )
    with given.store.transaction() as tx:
        assert tx.take_queued("stack-1", 2) == ["a", "b"]
        assert tx.take_queued("stack-1", 9) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ({}, True),
        ({"lease_expires_at": at(9.999999)}, True),
        ({"lease_expires_at": at(10)}, False),
        ({"lease_expires_at": at(10.000001)}, False),
        ({"posted_at": at(5)}, False),
        ({"posted_at": None}, False),
        ({"observe_at": at(1)}, False),
        ({"job_state": JobState.BEGUN}, True),
        ({"job_state": JobState.BEGUN, "lease_expires_at": at(11)}, False),
        ({"job_state": JobState.DUE}, False),
        ({"job_state": JobState.WATCHED}, False),
        ({"job_state": JobState.RETRY}, False),
        ({"job_state": JobState.HALTED}, False),
    ],
)
def test_a_lost_job_is_posted_and_nobody_holds_or_waits_for_it(given, values, lost):
    given.resources(resource_row("a", **{"job_state": POSTED, "posted_at": at(4), **values}))
    found = given.store.lost_jobs(at(10), at(5), 10)
    assert found == ([Sweepable("stack-1", 1, "a")] if lost else [])
    assert not lost or given.row("a").job_state is POSTED


def test_a_lost_job_is_found_by_one_observer_only(given):
    given.resources(
        *(resource_row(name, job_state=POSTED, posted_at=at(n)) for n, name in enumerate("abc"))
    )
    assert [job.resource_id for job in given.store.lost_jobs(at(10), at(5), 2)] == ["a", "b"]
    assert [job.resource_id for job in given.store.lost_jobs(at(10), at(5), 2)] == ["c"]
    assert given.store.lost_jobs(at(10), at(5), 2) == []
    assert given.row("a").posted_at == at(10)


def test_a_due_observation_is_taken_by_one_observer_only(given):
    given.resources(
        resource_row("a", observe_at=at(3), data={"k": 1}),
        resource_row("b", observe_at=at(2)),
        resource_row("c", observe_at=at(10)),
        resource_row("d", observe_at=at(10.000001)),
        resource_row("e"),
    )
    assert given.store.next_observation() == at(2)
    first = given.store.due_observations(at(10), at(40), 2)
    assert [(row.id, row.observe_at) for row in first] == [("a", at(40)), ("b", at(40))]
    assert first[0].data == {"k": 1}
    assert [row.id for row in given.store.due_observations(at(10), at(40), 2)] == ["c"]
    assert given.store.due_observations(at(10), at(40), 2) == []
    assert given.store.next_observation() == at(10.000001)


def test_nothing_to_observe(given):
    assert given.store.next_observation() is None
    assert given.store.due_observations(at(10), at(40), 5) == []


def test_an_owner_renews_the_leases_that_it_names(given):
    def leased(row_id: str, owner: str, token: str) -> Resource:
        return resource_row(
            row_id, lease_owner=owner, lease_token=token, lease_expires_at=at(5)
        )

    given.resources(
        leased("a", "engine-1", "one"),
        leased("b", "engine-1", "two"),
        leased("c", "engine-1", "three"),
        leased("d", "engine-2", "one"),
        resource_row("e"),
    )
    assert given.store.renew_leases("engine-1", ["one", "two"], at(20)) == 2
    assert given.store.renew_leases("engine-3", ["one"], at(20)) == 0
    assert given.store.renew_leases("engine-1", [], at(20)) == 0
    expiries = [row.lease_expires_at for row in given.rows("a", "b", "c", "d", "e")]
    assert expiries == [at(20), at(20), at(5), at(5), None]
