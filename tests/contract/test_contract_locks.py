"""What two transactions at the same time do to each other, on real servers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from heat_convergence.convergence.model import Desired, Edge, JobState
from heat_convergence.testing.rows import at, resource_row, stack_row
from heat_convergence.testing.store import MemoryStore


def test_who_claims_does_not_wait_for_rows_that_another_holds(shared):
    shared.resources(*(resource_row(name) for name in "abc"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        assert [row.id for row in one.claimable(["a", "b"])] == ["a", "b"]
        assert [row.id for row in two.claimable(["a", "b", "c"])] == ["c"]


def test_one_of_two_claims_sees_the_lease_of_the_other(shared):
    shared.resources(resource_row("a", job_state=JobState.POSTED))
    barrier = threading.Barrier(2)

    def claim(token: str) -> bool:
        barrier.wait()
        with shared.store.transaction() as tx:
            free = [row for row in tx.claimable(["a"]) if not row.leased(at(0))]
            tx.update_resources(
                [row.id for row in free], lease_token=token, lease_expires_at=at(10)
            )
        return bool(free)

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(claim, ("one", "two")))
    assert won.count(True) == 1
    assert shared.row("a").lease_token == ("one" if won[0] else "two")


def test_the_lock_of_a_stack_is_waited_for_and_then_sees_what_was_written(shared):
    entered = threading.Event()

    def second() -> int:
        entered.set()
        with shared.store.transaction() as tx:
            stack = tx.lock_stack("stack-1")
            return stack.version

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.lock_stack("stack-1")
            answer = pool.submit(second)
            entered.wait()
            tx.update_stack("stack-1", version=2)
        assert answer.result(timeout=30) == 2


def test_who_moves_a_job_on_does_not_wait_for_the_stack(shared):
    """A foreign key's index that changed with the job would make InnoDB look the stack
    up: who holds the stack and waits for the job's row would then wait for ever."""
    shared.resources(resource_row("a", job_state=JobState.BEGUN))

    def move_on() -> None:
        with shared.store.transaction() as tx:
            tx.update_resources(["a"], job_state=JobState.WATCHED)
            tx.save_resources({"a": {"job_state": JobState.POSTED, "observe_at": at(1)}})

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        tx.lock_stack("stack-1")
        pool.submit(move_on).result(timeout=20)


@pytest.mark.parametrize("verb", ["erase_resources", "purge_gone"])
def test_two_stacks_are_deleted_side_by_side(shared, verb):
    """However small the tables are: neither reads, and so locks, the other one's rows."""
    shared.stack(stack_row("stack-2"))
    for stack, ids in (("stack-1", "abcdefghijklmnop"), ("stack-2", "wxyz")):
        gone = {"stack_id": stack, "desired": Desired.ABSENT, "job": None, "job_state": None}
        shared.resources(*(resource_row(name, **gone) for name in ids))
        with shared.store.transaction() as tx:
            tx.add_edges(stack, 1, [Edge(one, None) for one in ids])

    def delete(tx, stack: str) -> None:
        getattr(tx, verb)(stack)

    def other() -> None:
        with shared.store.transaction() as tx:
            delete(tx, "stack-1")

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        delete(tx, "stack-2")
        pool.submit(other).result(timeout=20)
    assert shared.rows(*"abpwz") == []


@pytest.mark.parametrize("lock", ["lock_unfinished", "lock_stack_resources"])
def test_a_stacks_rows_are_locked_in_the_order_of_ids(shared, lock):
    """Whatever their names are: who holds the first one may still have the second."""
    shared.resources(
        resource_row("a", name="z", job_state=JobState.BEGUN),
        resource_row("b", name="y", job_state=JobState.BEGUN),
    )
    entered = threading.Event()

    def all_of_them() -> list[str]:
        with shared.store.transaction() as tx:
            tx.lock_stack("stack-1")
            entered.set()
            return [row.id for row in getattr(tx, lock)("stack-1")]

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.lock_jobs(["a"])
            answer = pool.submit(all_of_them)
            entered.wait()
            threading.Event().wait(0.5)  # by now it waits for the first row
            assert [row.id for row in tx.lock_jobs(["b"])] == ["b"]
        assert answer.result(timeout=30) == ["a", "b"]


@pytest.mark.parametrize("lock", ["lock_jobs", "lock_leased"])
def test_locks_of_rows_are_waited_for(shared, lock):
    shared.resources(resource_row("a", lease_token="t"))
    entered = threading.Event()

    def second() -> list[int]:
        entered.set()
        with shared.store.transaction() as tx:
            if lock == "lock_jobs":
                return [row.version for row in tx.lock_jobs(["a"])]
            return list(tx.lock_leased(["a"], "t").values())

    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as tx:
            tx.lock_jobs(["a"])
            answer = pool.submit(second)
            entered.wait()
            tx.update_resources(["a"], version=2)
        assert answer.result(timeout=30) == [2]


def test_sweeps_pass_over_rows_that_are_held(shared):
    shared.resources(
        *(
            resource_row(name, job_state=JobState.POSTED, posted_at=at(0),
                         lease_owner="me", lease_token="t")
            for name in "ab"
        ),
        *(resource_row(name, observe_at=at(0)) for name in "cd"),
    )
    with shared.store.transaction() as tx:
        tx.claimable(["a", "c"])
        lost = shared.store.lost_jobs(at(10), at(5), 10)
        due = shared.store.due_observations(at(10), at(20), 10)
        assert shared.store.renew_leases("me", ["t"], at(30)) == 1
    assert [job.resource_id for job in lost] == ["b"]
    assert [row.id for row in due] == ["d"]


def test_what_is_not_committed_is_not_seen(shared):
    shared.resources(resource_row("a"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        one.update_resources(["a"], version=2)
        assert two.get_resources(["a"])[0].version == 1


def test_two_transactions_put_the_same_content(shared):
    barrier = threading.Barrier(2)

    def put(text: str) -> None:
        barrier.wait()
        with shared.store.transaction() as tx:
            tx.put_contents({f"{n:03}": text for n in range(100)})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, ("x", "x")))
    with shared.store.transaction() as tx:
        assert len(tx.get_contents([f"{n:03}" for n in range(100)])) == 100


def test_the_twin_refuses_a_transaction_inside_another():
    store = MemoryStore()
    with store.transaction(), pytest.raises(RuntimeError), store.transaction():
        pass
