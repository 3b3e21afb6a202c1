"""Whose turn it is: what a project has in hand, and which jobs come next."""

from __future__ import annotations

from heat_convergence.convergence.model import JobState, Status
from heat_convergence.convergence.ports import Sweepable, Workload
from heat_convergence.testing.rows import at, resource_row, stack_row

DUE = JobState.DUE


def due(name: str, tree: str, **values):
    return resource_row(
        name, **{"job_state": DUE, "project_id": "p", "root_id": tree, "version": 3, **values}
    )


def test_what_a_project_has_in_hand(given):
    given.resources(
        due("a", "t", job_state=JobState.POSTED),
        due("b", "t", job_state=JobState.BEGUN),
        due("c", "u", job_state=JobState.BEGUN),
        due("d", "u", job_state=JobState.WATCHED),
        due("e", "u", job_state=JobState.RETRY),
        due("f", "u"),
        due("ff", "u"),
        due("g", "u", job_state=JobState.POSTED, project_id="q"),
    )
    with given.store.transaction() as tx:
        # Of those that are due it is only told that there are any.
        assert tx.workload("p") == Workload(posted=1, begun=2, due=True)
        assert tx.workload("q") == Workload(posted=1)
        assert tx.workload("r") == Workload()
        with_stack = tx.workload("q", "stack-1")
        assert with_stack == Workload(posted=1, in_flight=8, queued=False)


def test_a_stack_and_what_its_project_has_in_hand(given):
    stack = given.stack(stack_row("stack-2", project_id="p"))
    with given.store.transaction() as tx:
        assert tx.stack_at_work("stack-2") == (stack, Workload())
    given.resources(
        due("a", "t", job_state=JobState.POSTED),
        due("b", "t", job_state=JobState.BEGUN),
        due("c", "u", job_state=JobState.POSTED),
        due("d", "u"),
        due("e", "u", project_id="q", job_state=JobState.POSTED),
    )
    with given.store.transaction() as tx:
        assert tx.stack_at_work("stack-2") == (stack, Workload(posted=2, begun=1, due=True))
        assert tx.stack_at_work("stack-1")[1] == Workload()
        assert tx.stack_at_work("stack-3") is None


def test_trees_take_turns(given):
    given.resources(
        due("1", "t"), due("2", "v"), due("3", "u"), due("4", "t"), due("5", "v"),
        due("6", "u", job_state=JobState.QUEUED), due("7", "u", project_id="q"),
    )
    with given.store.transaction() as tx:
        order = {
            after: "".join(job.resource_id for job in tx.take_due("p", after, 9))
            for after in ("", "t", "u", "v")
        }
        assert order == {"": "14325", "t": "32514", "u": "25143", "v": "14325"}
        assert tx.take_due("p", "u", 3) == [
            Sweepable("stack-1", 3, name) for name in ("2", "5", "1")
        ]
        assert tx.take_due("nobody", "t", 3) == []


def test_who_takes_does_not_wait_for_rows_that_another_holds(shared):
    shared.resources(*(due(name, "t") for name in "abc"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        first = [job.resource_id for job in one.take_due("p", "t", 2)]
        second = [job.resource_id for job in two.take_due("p", "t", 2)]
        assert (first, second) == (["a", "b"], ["c"])


def test_only_what_is_begun_is_posted_again(given):
    states = (JobState.BEGUN, JobState.BLOCKED, JobState.QUEUED, JobState.HALTED)
    given.resources(*(resource_row(str(state), job_state=state) for state in states))
    with given.store.transaction() as tx:
        tx.repost([str(state) for state in states], at(3))
    rows = {row.id: row for row in given.rows(*(str(state) for state in states))}
    assert rows["begun"].job_state is JobState.POSTED
    assert rows["begun"].posted_at == at(3)
    assert [rows[str(state)].job_state for state in states[1:]] == list(states[1:])


def test_projects_that_wait_for_long(given):
    given.stack(stack_row("stack-2", project_id="other"))
    given.stack(stack_row("stack-3", project_id="done", status=Status.COMPLETE))
    given.resources(
        due("a", "t", posted_at=at(1)),
        due("b", "t", posted_at=at(2)),
        due("c", "t", posted_at=at(5), stack_id="stack-2"),
        due("d", "t", posted_at=at(1), stack_id="stack-3"),
    )
    assert given.store.waiting_projects(at(5), 10) == ["project-1"]
    assert given.store.waiting_projects(at(6), 10) == ["other", "project-1"]
    assert given.store.waiting_projects(at(6), 1) == ["other"]
    assert given.store.waiting_projects(at(1), 10) == []
