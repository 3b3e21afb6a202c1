"""Jobs of a stack, and sweeps: lost jobs, due observations, renewed leases."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heat_convergence.convergence.model.job import JobRef, JobState, Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import resource
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

POSTED = JobState.POSTED


def test_workload_of_a_stack(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a", job_state=POSTED),
        resource_row("b", job_state=JobState.RETRY),
        resource_row("c", job_state=JobState.REPLACE),
        resource_row("d", job_state=JobState.QUEUED),
        resource_row("e", job_state=POSTED, stack_id="stack-2"),
        resource_row("f", job=None, job_state=None),
        resource_row("g", job_state=POSTED),
        resource_row("h", job_state=JobState.BLOCKED),
        resource_row("i", job_state=JobState.CANCELLED),
        resource_row("j", job_state=JobState.SCHEDULABLE),
        resource_row("k", job_state=JobState.RUNNING),
        resource_row("l", job_state=JobState.AWAITING_OBSERVATION),
    )
    with seeder.store.transaction() as tx:
        one, two, three = (tx.jobs.get_workload("nobody", f"stack-{n}") for n in (1, 2, 3))
    assert (one, two, three) == (
        Workload(in_flight=7, has_queued=True),
        Workload(in_flight=1),
        Workload(),
    )


def test_queued_jobs_are_taken_in_id_order(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        *(resource_row(name, job_state=JobState.QUEUED) for name in "cab"),
        resource_row("0", job_state=POSTED),
        resource_row("1", job_state=JobState.QUEUED, stack_id="stack-2"),
    )
    with seeder.store.transaction() as tx:
        assert tx.jobs.next_queued("stack-1", 2) == ["a", "b"]
        assert tx.jobs.next_queued("stack-1", 9) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ({}, True),
        ({"lease_expires_at": time_at(9.999999)}, True),
        ({"lease_expires_at": time_at(10)}, False),
        ({"lease_expires_at": time_at(10.000001)}, False),
        ({"posted_at": time_at(5)}, False),
        ({"posted_at": None}, False),
        ({"observe_at": time_at(1)}, False),
        ({"job_state": JobState.RUNNING}, True),
        ({"job_state": JobState.RUNNING, "lease_expires_at": time_at(11)}, False),
        ({"job_state": JobState.SCHEDULABLE}, False),
        ({"job_state": JobState.AWAITING_OBSERVATION}, False),
        ({"job_state": JobState.RETRY}, False),
        ({"job_state": JobState.CANCELLED}, False),
    ],
)
def test_lost_job_is_posted_and_neither_leased_nor_observed(seeder, values, lost):
    seeder.resources(resource_row("a", **{"job_state": POSTED, "posted_at": time_at(4), **values}))
    found = seeder.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 10)
    assert found == ([JobRef("stack-1", 1, "a")] if lost else [])
    assert not lost or seeder.row("a").job.state is POSTED


def test_lost_job_is_taken_by_one_observer(seeder):
    seeder.resources(
        *(
            resource_row(name, job_state=POSTED, posted_at=time_at(n))
            for n, name in enumerate("abc")
        )
    )
    assert [
        job.resource_id for job in seeder.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 2)
    ] == [
        "a",
        "b",
    ]
    assert [
        job.resource_id for job in seeder.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 2)
    ] == ["c"]
    assert seeder.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 2) == []
    assert seeder.row("a").job.posted_at == time_at(10)


def test_due_observation_is_taken_by_one_observer(seeder):
    seeder.resources(
        resource_row("a", observe_at=time_at(3), data={"k": 1}),
        resource_row("b", observe_at=time_at(2)),
        resource_row("c", observe_at=time_at(10)),
        resource_row("d", observe_at=time_at(10.000001)),
        resource_row("e"),
    )
    assert seeder.store.sweeps.get_next_observation_time() == time_at(2)
    first = seeder.store.sweeps.take_due_observations(time_at(10), time_at(40), 2)
    assert [(row.id, row.observation.observe_at) for row in first] == [
        ("a", time_at(40)),
        ("b", time_at(40)),
    ]
    assert first[0].physical.data == {"k": 1}
    assert [
        row.id for row in seeder.store.sweeps.take_due_observations(time_at(10), time_at(40), 2)
    ] == ["c"]
    assert seeder.store.sweeps.take_due_observations(time_at(10), time_at(40), 2) == []
    assert seeder.store.sweeps.get_next_observation_time() == time_at(10.000001)


@pytest.mark.parametrize("unreadable", [2**62, -(2**62)])
def test_next_observation_is_not_one_without_a_readable_time(database, unreadable):
    store = SqlStore(database)
    with store.transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([resource_row("bad"), resource_row("good")])
    raw = sa.literal(unreadable, sa.BigInteger)
    with database.write() as conn:
        conn.execute(resource.update().where(resource.c.id == "bad").values(observe_at=raw))
    assert store.sweeps.get_next_observation_time() is None
    with database.write() as conn:
        good = resource.update().where(resource.c.id == "good")
        conn.execute(good.values(observe_at=time_at(5)))
    assert store.sweeps.get_next_observation_time() == time_at(5)


def test_no_next_observation(seeder):
    assert seeder.store.sweeps.get_next_observation_time() is None
    assert seeder.store.sweeps.take_due_observations(time_at(10), time_at(40), 5) == []


def test_lease_renewal_by_owner_and_token(seeder):
    def leased(row_id: str, owner: str, token: str) -> Resource:
        return resource_row(
            row_id, lease_owner=owner, lease_token=token, lease_expires_at=time_at(5)
        )

    seeder.resources(
        leased("a", "engine-1", "one"),
        leased("b", "engine-1", "two"),
        leased("c", "engine-1", "three"),
        leased("d", "engine-2", "one"),
        resource_row("e"),
    )
    assert seeder.store.workers.renew_leases("engine-1", ["one", "two"], time_at(20)) == 2
    assert seeder.store.workers.renew_leases("engine-3", ["one"], time_at(20)) == 0
    assert seeder.store.workers.renew_leases("engine-1", [], time_at(20)) == 0
    expiries = [row.lease.expires_at for row in seeder.rows("a", "b", "c", "d", "e")]
    assert expiries == [time_at(20), time_at(20), time_at(5), time_at(5), None]


def test_jobs_of_ended_workers_are_posted_without_waiting_for_the_lease(seeder):
    def leased(row_id: str, owner: str, state: JobState) -> Resource:
        return resource_row(
            row_id,
            job_state=state,
            posted_at=time_at(1),
            lease_owner=owner,
            lease_token=f"token of {owner}",
            lease_expires_at=time_at(20),
        )

    seeder.resources(
        leased("a", "ended", JobState.RUNNING),
        leased("b", "ended", JobState.POSTED),
        leased("c", "ended", JobState.CANCELLED),
        leased("d", "alive", JobState.RUNNING),
        leased("e", "ended too", JobState.RUNNING),
    )
    take = seeder.store.workers.take_jobs_of_ended
    owners = ["ended", "ended too", "never seen"]
    assert [job.resource_id for job in take(owners, time_at(10), 3)] == ["a", "b", "c"]
    assert [job.resource_id for job in take(owners, time_at(10), 3)] == ["e"]
    assert take(owners, time_at(10), 3) == []
    rows = {row.id: row for row in seeder.rows("a", "b", "c", "d", "e")}
    assert [rows[name].job.state for name in "abcde"] == [
        JobState.POSTED, JobState.POSTED, JobState.CANCELLED, JobState.RUNNING, JobState.POSTED,
    ]  # fmt: skip
    assert [rows[name].lease.is_active(time_at(10)) for name in "abcde"] == [
        False, False, False, True, False,
    ]  # fmt: skip
    assert rows["a"].job.posted_at == time_at(10)
    # What the next worker counts as a takeover.
    assert rows["a"].lease.token == "token of ended"


@pytest.mark.parametrize(
    ("stabilizing", "observe_at", "stalled"),
    [(True, time_at(9), False), (True, None, True), (False, time_at(9), True)],
)
def test_stack_that_waits_for_reads_at_rest_is_not_stalled(
    store, stabilizing, observe_at, stalled
):
    stable_since = time_at(3) if stabilizing else None
    row = resource_row("a", stack_id="one", job=None, job_state=None, observe_at=observe_at)
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("one", version=3, stabilization_s=60))
        tx.stacks.update("one", stabilizing=stabilizing, stable_since=stable_since)
        tx.resources.insert([row])
        found = tx.stacks.lock("one")
    assert (found.stabilization_s, found.stabilizing, found.stable_since) == (
        60, stabilizing, stable_since,
    )  # fmt: skip
    assert store.sweeps.find_stalled_stacks(time_at(1), 10) == ([("one", 3)] if stalled else [])
