"""Jobs: a project's workload, the jobs that come next, and transitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.model import job_transitions, transition_rules
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobRef, JobState, ObservedState, Workload
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at
from tests.contract.conftest import StoreSeeder

SCHEDULABLE = JobState.SCHEDULABLE


def schedulable_job(name: str, tree: str, **values):
    return resource_row(
        name,
        **{"job_state": SCHEDULABLE, "project_id": "p", "root_id": tree, "version": 3, **values},
    )


def test_workload_of_a_project(seeder):
    seeder.resources(
        schedulable_job("a", "t", job_state=JobState.POSTED),
        schedulable_job("b", "t", job_state=JobState.RUNNING),
        schedulable_job("c", "u", job_state=JobState.RUNNING),
        schedulable_job("d", "u", job_state=JobState.AWAITING_OBSERVATION),
        schedulable_job("e", "u", job_state=JobState.RETRY),
        schedulable_job("f", "u"),
        schedulable_job("ff", "u"),
        schedulable_job("g", "u", job_state=JobState.POSTED, project_id="q"),
    )
    with seeder.store.transaction() as tx:
        # Of schedulable jobs, only their existence is known.
        assert tx.jobs.get_workload("p") == Workload(posted=1, running=2, has_schedulable=True)
        assert tx.jobs.get_workload("q") == Workload(posted=1)
        assert tx.jobs.get_workload("r") == Workload()
        with_stack = tx.jobs.get_workload("q", "stack-1")
        assert with_stack == Workload(posted=1, in_flight=8, has_queued=False)


def test_workloads_of_several_stacks(seeder):
    seeder.stack(stack_row("stack-2", project_id="p"))
    seeder.resources(
        schedulable_job("a", "t", job_state=JobState.POSTED),
        schedulable_job("b", "t", job_state=JobState.QUEUED),
        schedulable_job("c", "u", job_state=JobState.RUNNING, stack_id="stack-2"),
        schedulable_job("d", "u", job_state=JobState.RUNNING, stack_id="stack-2", project_id="q"),
    )
    with seeder.store.transaction() as tx:
        project = Workload(posted=1, running=1)
        assert tx.jobs.get_workloads("p", ["stack-1", "stack-2", "nobody"]) == {
            "stack-1": replace(project, in_flight=1, has_queued=True),
            "stack-2": replace(project, in_flight=2),
            "nobody": project,
        }
        assert tx.jobs.get_workloads("q", ["stack-1"]) == {
            "stack-1": Workload(running=1, in_flight=1, has_queued=True)
        }


def test_stack_with_project_workload(seeder):
    stack = seeder.stack(stack_row("stack-2", project_id="p"))
    with seeder.store.transaction() as tx:
        assert tx.stacks.get_with_workload("stack-2") == (stack, Workload())
    seeder.resources(
        schedulable_job("a", "t", job_state=JobState.POSTED),
        schedulable_job("b", "t", job_state=JobState.RUNNING),
        schedulable_job("c", "u", job_state=JobState.POSTED),
        schedulable_job("d", "u"),
        schedulable_job("e", "u", project_id="q", job_state=JobState.POSTED),
    )
    with seeder.store.transaction() as tx:
        assert tx.stacks.get_with_workload("stack-2") == (
            stack,
            Workload(posted=2, running=1, has_schedulable=True),
        )
        assert tx.stacks.get_with_workload("stack-1")[1] == Workload()
        assert tx.stacks.get_with_workload("stack-3") is None


def test_unblocked_resources_with_schedulable_jobs_of_the_project(seeder):
    seeder.stack(stack_row("stack-2", project_id="p"))
    seeder.resources(
        schedulable_job("a", "t", job_state=JobState.POSTED, stack_id="stack-2"),
        schedulable_job("b", "t", job_state=JobState.POSTED),
        schedulable_job("e", "u", project_id="q"),
    )
    with seeder.store.transaction() as tx:
        found = tx.leases.get_unblocked({"stack-2": ["a"]})
        assert not found.has_schedulable
    seeder.resources(schedulable_job("d", "u"))
    with seeder.store.transaction() as tx:
        found = tx.leases.get_unblocked({"stack-2": ["a"]})
        assert found.has_schedulable


def test_stack_trees_are_scheduled_round_robin(seeder):
    seeder.resources(
        schedulable_job("1", "t"),
        schedulable_job("2", "v"),
        schedulable_job("3", "u"),
        schedulable_job("4", "t"),
        schedulable_job("5", "v"),
        schedulable_job("6", "u", job_state=JobState.QUEUED),
        schedulable_job("7", "u", project_id="q"),
    )
    with seeder.store.transaction() as tx:
        order = {
            after: "".join(job.resource_id for job in tx.jobs.next_schedulable("p", after, 9))
            for after in ("", "t", "u", "v")
        }
        assert order == {"": "14325", "t": "32514", "u": "25143", "v": "14325"}
        assert tx.jobs.next_schedulable("p", "u", 3) == [
            JobRef("stack-1", 3, name) for name in ("2", "5", "1")
        ]
        assert tx.jobs.next_schedulable("nobody", "t", 3) == []


def test_next_schedulable_skips_locked_rows(shared):
    shared.resources(*(schedulable_job(name, "t") for name in "abc"))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        first = [job.resource_id for job in one.jobs.next_schedulable("p", "t", 2)]
        second = [job.resource_id for job in two.jobs.next_schedulable("p", "t", 2)]
        assert (first, second) == (["a", "b"], ["c"])


def test_repost_affects_running_jobs_only(seeder):
    states = (JobState.RUNNING, JobState.BLOCKED, JobState.QUEUED, JobState.CANCELLED)
    seeder.resources(*(resource_row(str(state), job_state=state) for state in states))
    with seeder.store.transaction() as tx:
        tx.jobs.repost([str(state) for state in states], time_at(3))
    rows = {row.id: row for row in seeder.rows(*(str(state) for state in states))}
    assert rows["begun"].job.state is JobState.POSTED
    assert rows["begun"].job.posted_at == time_at(3)
    assert [rows[str(state)].job.state for state in states[1:]] == list(states[1:])


def test_projects_with_schedulable_jobs(seeder):
    seeder.stack(stack_row("stack-2", project_id="other"))
    seeder.stack(stack_row("stack-3", project_id="done", status=Status.COMPLETE))
    seeder.resources(
        schedulable_job("a", "t", posted_at=time_at(1), project_id="project-1"),
        schedulable_job("b", "t", posted_at=time_at(2), project_id="project-1"),
        schedulable_job("c", "t", posted_at=time_at(5), project_id="other", stack_id="stack-2"),
        schedulable_job("d", "t", posted_at=time_at(1), project_id="done", stack_id="stack-3"),
    )
    assert seeder.store.sweeps.find_projects_with_schedulable_jobs(time_at(5), 10) == ["project-1"]
    assert seeder.store.sweeps.find_projects_with_schedulable_jobs(time_at(6), 10) == [
        "other",
        "project-1",
    ]
    assert seeder.store.sweeps.find_projects_with_schedulable_jobs(time_at(6), 1) == ["other"]
    assert seeder.store.sweeps.find_projects_with_schedulable_jobs(time_at(1), 10) == []


class TestTransitions:
    """Applying transitions of the job state machine to stored rows."""

    def test_apply_sets_the_transition_and_further_columns(self, seeder):
        seeder.resources(resource_row("a"), resource_row("b"), resource_row("c"))
        with seeder.store.transaction() as tx:
            tx.jobs.apply(["a", "b", "missing"], job_transitions.post(time_at(3)), must_run=False)
            tx.jobs.apply([], job_transitions.cancel())
        for row in seeder.rows("a", "b"):
            assert (row.job.state, row.job.posted_at) == (JobState.POSTED, time_at(3))
            assert row.job.must_run is False
        assert seeder.row("c") == resource_row("c")

    def test_apply_each_sets_values_by_row(self, seeder):
        seeder.resources(
            resource_row(
                "a", job_state=JobState.AWAITING_OBSERVATION, observed=ObservedState.BUSY
            ),
            resource_row("b", job_state=JobState.RETRY),
        )
        with seeder.store.transaction() as tx:
            tx.jobs.apply_each({})
            tx.jobs.apply_each(
                {
                    "a": (_retry_at(5), {"status_reason": "a waits"}),
                    "b": (_retry_at(6), {"status_reason": "b waits"}),
                }
            )
        found = [
            (row.job.state, row.observation.state, row.observation.observe_at, row.state.reason)
            for row in seeder.rows("a", "b")
        ]
        assert found == [
            (JobState.RETRY, None, time_at(5), "a waits"),
            (JobState.RETRY, None, time_at(6), "b waits"),
        ]

    @pytest.mark.parametrize(
        ("token", "version", "written"), [("t", 1, True), ("other", 1, False), ("t", 2, False)]
    )
    def test_apply_leased_writes_only_under_the_lease(self, seeder, token, version, written):
        leased = resource_row(
            "a", job_state=JobState.RUNNING, lease_token="t", lease_expires_at=time_at(9)
        )
        seeder.resources(leased)
        done = job_transitions.await_observation(ObservedState.BUSY, time_at(7))
        columns = {"physical_id": "p", "data": {"key": 1}, "sensitive": False}
        with seeder.store.transaction() as tx:
            assert tx.jobs.apply_leased("a", token, version, done, columns) is written
            assert tx.jobs.apply_leased("missing", token, version, done, columns) is False
        if written:
            row = seeder.row("a")
            assert (row.job.state, row.observation.observe_at) == (
                JobState.AWAITING_OBSERVATION,
                time_at(7),
            )
            assert (row.lease.token, row.lease.expires_at) == (None, None)
            assert (row.physical.id, row.physical.data) == ("p", {"key": 1})
        else:
            assert seeder.row("a") == leased


def test_memory_store_refuses_illegal_transitions():
    seeder = StoreSeeder(MemoryStore())
    seeder.stack()
    seeder.resources(resource_row("a", job_state=JobState.RUNNING))
    with seeder.store.transaction() as tx, pytest.raises(transition_rules.IllegalTransition):
        tx.jobs.apply(["a"], job_transitions.claim("engine", "token", time_at(5)))


def _retry_at(seconds):
    return job_transitions.retry_later(time_at(seconds), time_at(4))
