"""What two transactions at the same time do to each other, on real servers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event

from heat_convergence.convergence.model import Action, Desired, Edge, JobState, SavedStack, Status
from heat_convergence.db import purging
from heat_convergence.testing.rows import at, goal_row, resource_row, stack_row
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


def test_who_draws_edges_does_not_hold_their_ends(shared):
    """A foreign key would hold them for reading: two who draw an edge to the same row
    and then move its job on would wait for each other."""
    shared.resources(resource_row("a", job_state=JobState.POSTED), resource_row("b"))

    def move_on() -> None:
        with shared.store.transaction() as tx:
            tx.update_resources(["a"], job_state=JobState.BEGUN)

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        tx.add_edges("stack-1", 1, [Edge("b", "a", observed_ready=False)])
        pool.submit(move_on).result(timeout=20)


def _drop(tx, stack: str) -> None:
    tx.clear_graph(stack)
    tx.delete_resources([row.id for row in tx.stack_resources(stack)])


@pytest.mark.parametrize(
    "delete",
    [
        pytest.param(lambda tx, stack: tx.erase_resources(stack), id="all"),
        pytest.param(lambda tx, stack: tx.purge_gone(stack), id="what is gone"),
        pytest.param(_drop, id="the graph, and rows by id"),
        pytest.param(lambda tx, stack: tx.prune_goals(stack, ()), id="goals"),
        pytest.param(lambda tx, stack: tx.erase_snapshots(stack), id="snapshots"),
    ],
)
def test_two_stacks_are_deleted_side_by_side(shared, delete):
    """However small the tables are: neither reads, and so locks, the other one's rows."""
    shared.stack(stack_row("stack-2"))
    for stack, ids in (("stack-1", "abcdefghijklmnop"), ("stack-2", "wxyz")):
        gone = {"stack_id": stack, "desired": Desired.ABSENT, "job": None, "job_state": None}
        shared.resources(*(resource_row(name, **gone) for name in ids))
        with shared.store.transaction() as tx:
            tx.add_edges(stack, 1, [Edge(one, None) for one in ids])
            tx.insert_goal(goal_row(f"goal-{stack}", stack_id=stack))
            tx.insert_snapshot(
                SavedStack(
                    id=f"saved-{stack}", stack_id=stack, project_id="p", name=None, version=1,
                    action=Action.CREATE, status=Status.COMPLETE, status_reason="",
                    goal_id="none", created_at=at(0),
                )
            )

    def other() -> None:
        with shared.store.transaction() as tx:
            delete(tx, "stack-1")

    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as tx:
        delete(tx, "stack-2")
        pool.submit(other).result(timeout=20)
    with shared.store.transaction() as tx:
        left = (tx.stack_resources("stack-2"), tx.get_goal("goal-stack-2"),
                tx.get_snapshot("stack-2", "saved-stack-2"))
    assert [] in left or None in left


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


def test_who_needs_a_text_that_is_there_waits_for_nobody_but_a_purge(shared):
    with shared.store.transaction() as tx:
        tx.put_contents({"a": "popular", "b": "popular too"})
    database = shared.store.database
    with ThreadPoolExecutor(1) as pool:
        with shared.store.transaction() as one:
            one.put_contents({"a": "popular", "b": "popular too"})
            with shared.store.transaction() as two:
                two.put_contents({"b": "popular too", "c": "new"})
            purged = pool.submit(purging.purge_contents, database)
            one.insert_goal(goal_row("goal-1", template_hash="a", files={"f": "b"}))
        assert purged.result(timeout=30) == 1
    with shared.store.transaction() as tx:
        assert set(tx.get_contents(["a", "b", "c"])) == {"a", "b"}


def test_the_twin_refuses_a_transaction_inside_another():
    store = MemoryStore()
    with store.transaction(), pytest.raises(RuntimeError), store.transaction():
        pass


def test_a_job_that_was_recorded_meanwhile_is_not_lost(shared):
    """Between the search for candidates and their locks."""
    held = {"lease_owner": "me", "lease_token": "t", "lease_expires_at": at(6)}
    shared.resources(resource_row("a", job_state=JobState.BEGUN, posted_at=at(0), **held))
    engine = shared.store.database.engine
    meanwhile = ["once"]

    def record(*_: object) -> None:
        if not meanwhile:
            return
        meanwhile.pop()
        with shared.store.transaction() as tx:
            tx.update_resources(
                ["a"], job_state=JobState.WATCHED, observe_at=at(20), lease_expires_at=None
            )

    event.listen(engine, "after_cursor_execute", record)
    found = shared.store.lost_jobs(at(10), at(5), 10)
    event.remove(engine, "after_cursor_execute", record)
    assert found == []
    assert shared.row("a").job_state is JobState.WATCHED


def test_who_takes_jobs_locks_no_entry_that_their_owner_moves(shared):
    """A stack that is halted moves its jobs on, whoever looks for some meanwhile."""
    due = {"job_state": JobState.DUE, "project_id": "p", "root_id": "t"}
    shared.resources(*(resource_row(name, **due) for name in "abc"))
    with ThreadPoolExecutor(1) as pool, shared.store.transaction() as one:
        one.lock_jobs(["a", "b", "c"])

        def look() -> None:
            with shared.store.transaction() as two:
                assert two.take_due("p", "s", 9) == []
                one.update_resources(["a", "b", "c"], job_state=JobState.HALTED)

        pool.submit(look).result(timeout=20)
