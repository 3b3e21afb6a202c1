"""Concurrent transactions: waiting, skipping and deadlocks, on real servers."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.db.connection.galera import GALERA_KEY
from heat_convergence.db.maintenance import purge
from heat_convergence.db.store import SqlStore, SqlTransaction
from heat_convergence.db.tables import stack as stack_table
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import (
    goal_row,
    resource_row,
    stack_row,
    time_at,
)


def test_claim_skips_locked_rows(shared):
    shared.resources(*(resource_row(name) for name in "abc"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        assert [row.id for row in one.leases.lock_claimable(["a", "b"])] == ["a", "b"]
        assert [row.id for row in two.leases.lock_claimable(["a", "b", "c"])] == ["c"]


def test_concurrent_claim_finds_existing_lease(shared):
    shared.resources(resource_row("a", job_state=JobState.POSTED))
    barrier = threading.Barrier(2)

    def claim(token: str) -> bool:
        barrier.wait()
        with shared.store.transaction() as tx:
            free = [
                row
                for row in tx.leases.lock_claimable(["a"])
                if not row.lease.is_active(time_at(0))
            ]
            lease = job_transitions.claim("engine", token, time_at(10))
            tx.jobs.apply([row.id for row in free], lease)
        return bool(free)

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(claim, ("one", "two")))
    assert won.count(True) == 1
    assert shared.row("a").lease.token == ("one" if won[0] else "two")


def test_stack_lock_waits_and_reads_committed_row(shared):
    entered = threading.Event()

    def second() -> int:
        entered.set()
        with shared.store.transaction() as tx:
            stack = tx.stacks.lock("stack-1")
            return stack.version

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.stacks.lock("stack-1")
            answer = pool.submit(second)
            entered.wait()
            tx.stacks.update("stack-1", version=2)
        assert answer.result(timeout=30) == 2


def test_stack_is_locked_before_its_resources(shared):
    """A transaction that waits for the stack holds none of its resources."""
    shared.resources(resource_row("a"))
    waiting = threading.Event()

    def second() -> tuple[int, int]:
        waiting.set()
        with shared.store.transaction() as tx:
            ((stack, (row,)),) = tx.stacks.lock_with_resources({"stack-1": ["a"]})
            return stack.version, row.job.version

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.stacks.lock("stack-1")
            answer = pool.submit(second)
            waiting.wait()
            for _ in range(20):
                with shared.store.transaction() as other:
                    assert [row.id for row in other.leases.lock_claimable(["a"])] == ["a"]
                time.sleep(0.01)
            assert not answer.done()
            tx.stacks.update("stack-1", version=2)
            tx.resources.update(["a"], version=2)
        assert answer.result(timeout=30) == (2, 2)


def test_rows_that_are_locked_together_are_read_as_committed(shared):
    shared.resources(resource_row("a"), resource_row("b"))
    waiting = threading.Event()

    def second() -> list[int]:
        waiting.set()
        with shared.store.transaction() as tx:
            ((_stack, rows),) = tx.stacks.lock_with_resources({"stack-1": ["a", "b"]})
            return [row.job.version for row in rows]

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.resources.lock(["b"])
            answer = pool.submit(second)
            waiting.wait()
            time.sleep(0.1)
            tx.resources.update(["b"], version=3)
        assert answer.result(timeout=30) == [1, 3]


def test_job_state_update_does_not_wait_for_stack_lock(shared):
    """An index of a foreign key that changes with the job makes InnoDB look the stack up.

    A transaction that holds the stack and waits for the job's row would wait for ever.
    """
    shared.resources(resource_row("a", job_state=JobState.RUNNING))

    def change_state() -> None:
        with shared.store.transaction() as tx:
            recorded = job_transitions.await_observation(ObservedState.BUSY, time_at(1))
            tx.jobs.apply(["a"], recorded)
            tx.jobs.apply_each({"a": (job_transitions.reschedule(time_at(1)), {})})

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        tx.stacks.lock("stack-1")
        pool.submit(change_state).result(timeout=20)
    assert shared.row("a").job.state is JobState.SCHEDULABLE


def test_inserting_edges_does_not_lock_resources(shared):
    """A foreign key would lock them for reading.

    Two transactions that add an edge to the same row, and then change the state of its
    job, would wait for each other.
    """
    shared.resources(resource_row("a", job_state=JobState.POSTED), resource_row("b"))

    def change_state() -> None:
        with shared.store.transaction() as tx:
            tx.jobs.apply(["a"], job_transitions.claim("engine", "token", time_at(9)))

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, [Edge("b", "a", observed_ready=False)])
        pool.submit(change_state).result(timeout=20)
    assert shared.row("a").lease.token == "token"
    with shared.store.transaction() as tx:
        assert tx.graph.get_edges_at("stack-1", ["a"]) == [Edge("b", "a")]


@pytest.mark.parametrize("noun", ["jobs", "resources"])
def test_resources_of_stack_are_locked_in_id_order(shared, noun):
    """Whatever their names are: a transaction with the first row may still lock the second."""
    shared.resources(
        resource_row("a", name="z", job_state=JobState.RUNNING),
        resource_row("b", name="y", job_state=JobState.RUNNING),
    )
    entered = threading.Event()

    def all_of_them() -> list[str]:
        with shared.store.transaction() as tx:
            tx.stacks.lock("stack-1")
            entered.set()
            return [row.id for row in getattr(tx, noun).lock_by_stack("stack-1")]

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.resources.lock(["a"])
            answer = pool.submit(all_of_them)
            entered.wait()
            threading.Event().wait(0.5)  # by now it waits for the first row
            assert [row.id for row in tx.resources.lock(["b"])] == ["b"]
        assert answer.result(timeout=30) == ["a", "b"]


@pytest.mark.parametrize("noun", ["resources", "leases"])
def test_row_locks_are_waited_for(shared, noun):
    shared.resources(resource_row("a", lease_token="t"))
    entered = threading.Event()

    def second() -> list[int]:
        entered.set()
        with shared.store.transaction() as tx:
            if noun == "resources":
                return [row.job.version for row in tx.resources.lock(["a"])]
            return list(tx.leases.lock_held(["a"], "t").values())

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.resources.lock(["a"])
            answer = pool.submit(second)
            entered.wait()
            tx.resources.update(["a"], version=2)
        assert answer.result(timeout=30) == [2]


def test_sweeps_skip_locked_rows(shared):
    shared.resources(
        *(
            resource_row(
                name,
                job_state=JobState.POSTED,
                posted_at=time_at(0),
                lease_owner="me",
                lease_token="t",
            )
            for name in "ab"
        ),
        *(resource_row(name, observe_at=time_at(0)) for name in "cd"),
    )
    with shared.store.transaction() as tx:
        tx.leases.lock_claimable(["a", "c"])
        lost = shared.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 10)
        due = shared.store.sweeps.take_due_observations(time_at(10), time_at(20), 10)
        assert shared.store.workers.renew_leases("me", ["t"], time_at(30)) == 1
    assert [row.lease.expires_at for row in shared.rows("a", "b")] == [None, time_at(30)]
    assert [job.resource_id for job in lost] == ["b"]
    assert [row.id for row in due] == ["d"]


def test_uncommitted_rows_are_invisible(shared):
    shared.resources(resource_row("a"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        one.resources.update(["a"], version=2)
        assert two.resources.get(["a"])[0].job.version == 1


def test_same_content_is_stored_by_two_transactions(shared):
    barrier = threading.Barrier(2)

    def put(text: str) -> None:
        barrier.wait()
        with shared.store.transaction() as tx:
            tx.contents.put({f"{n:03}": text for n in range(100)})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, ("x", "x")))
    with shared.store.transaction() as tx:
        assert len(tx.contents.get([f"{n:03}" for n in range(100)])) == 100


def test_storing_existing_content_waits_only_for_purge(shared):
    with shared.store.transaction() as tx:
        tx.contents.put({"a": "popular", "b": "popular too"})
    database = shared.store.database
    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as one:
            one.contents.put({"a": "popular", "b": "popular too"})
            with shared.store.transaction() as two:
                two.contents.put({"b": "popular too", "c": "new"})
            purged = pool.submit(purge.purge_contents, database)
            one.goals.insert(goal_row("goal-1", template_hash="a", files={"f": "b"}))
        assert purged.result(timeout=30) == 1
    with shared.store.transaction() as tx:
        assert set(tx.contents.get(["a", "b", "c"])) == {"a", "b"}


def test_memory_store_rejects_nested_transaction():
    store = MemoryStore()
    with store.transaction(), pytest.raises(RuntimeError), store.transaction():
        pass


def test_job_recorded_during_sweep_is_not_lost(shared):
    """The outcome is recorded between the search for candidates and their locks."""
    leased = {"lease_owner": "me", "lease_token": "t", "lease_expires_at": time_at(6)}
    shared.resources(resource_row("a", job_state=JobState.RUNNING, posted_at=time_at(0), **leased))
    engine = shared.store.database.engine
    meanwhile = ["once"]

    def record(*_: object) -> None:
        if not meanwhile:
            return
        meanwhile.pop()
        with shared.store.transaction() as tx:
            recorded = job_transitions.await_observation(ObservedState.BUSY, time_at(20))
            tx.jobs.apply(["a"], recorded)

    event.listen(engine, "after_cursor_execute", record)
    found = shared.store.sweeps.take_lost_jobs(time_at(10), time_at(5), 10)
    event.remove(engine, "after_cursor_execute", record)
    assert found == []
    assert shared.row("a").job.state is JobState.AWAITING_OBSERVATION


def test_taking_jobs_locks_no_job_state_index_entry(shared):
    """A stack that is cancelled changes its jobs while another transaction takes some."""
    schedulable = {"job_state": JobState.SCHEDULABLE, "project_id": "p", "root_id": "t"}
    shared.resources(*(resource_row(name, **schedulable) for name in "abc"))
    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as one:
        one.resources.lock(["a", "b", "c"])

        def take() -> None:
            with shared.store.transaction() as two:
                assert two.jobs.next_schedulable("p", "s", 9) == []
                one.jobs.apply(["a", "b", "c"], job_transitions.cancel())

        pool.submit(take).result(timeout=20)
    assert {row.job.state for row in shared.rows("a", "b", "c")} == {JobState.CANCELLED}


def test_stack_lock_changes_the_row_on_galera_alone(database):
    """Nodes of a cluster find conflicts between changes of a row and not between locks."""
    store = SqlStore(database)
    with store.transaction() as tx:
        tx.stacks.insert(stack_row("stack-1"))

    def turn_after_lock(*, galera: bool) -> int:
        with database.write() as connection:
            connection.info[GALERA_KEY] = galera
            assert SqlTransaction(connection).stacks.lock("stack-1").id == "stack-1"
            connection.info[GALERA_KEY] = False
            return connection.scalar(
                sa.select(stack_table.c.lock_turn).where(stack_table.c.id == "stack-1")
            )

    assert turn_after_lock(galera=False) == 0
    assert turn_after_lock(galera=True) == 1
