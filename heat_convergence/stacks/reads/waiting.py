"""Explanations of what unfinished resources wait for.

Called by the API for resources and stacks in progress.  Reads a constant number of statements
for any number of jobs, none for a stack at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.duration import TypeHistory
from heat_convergence.db.plans.history import read_usual_durations
from heat_convergence.db.reads import waiting, workload
from heat_convergence.db.reads.waiting import UnreadyResource
from heat_convergence.db.reads.workload import JobFilter, ListedJob

UNFINISHED = frozenset(JobState) - {JobState.CANCELLED}
_SHOWN_REQUIREMENTS = 5
_SHORTEST_SHOWN_S = 0.5
_MESSAGES: Mapping[JobState, str] = {
    JobState.QUEUED: "waits for room among the jobs of its stack",
    JobState.SCHEDULABLE: "waits for the turn of its project",
    JobState.POSTED: "waits for an engine",
    JobState.RUNNING: "an engine works on it",
    JobState.AWAITING_OBSERVATION: "waits until the service has finished",
    JobState.RETRY: "waits for its next try",
    JobState.REPLACE: "waits for its replacement",
}
_WORKED_ON = frozenset({JobState.RUNNING, JobState.AWAITING_OBSERVATION})


@dataclass(frozen=True, slots=True)
class WaitingResource:
    """An unfinished resource, and what it waits for.

    Attributes:
        message: one sentence for people.
        requirements: the resources that it needs and that are not ready.
        tries: its failed tries in this traversal.
        queue_position: its place among the project's jobs, from 1; None for one not in the queue.
    """

    job: ListedJob
    message: str
    requirements: tuple[UnreadyResource, ...] = ()
    tries: int = 0
    queue_position: int | None = None


@dataclass(frozen=True, slots=True)
class WaitingReader:
    """A reader of what the resources of a project wait for.

    Attributes:
        connection: an open connection of the database.
        retry_limit: the highest number of tries after the first one.
    """

    connection: Any
    project_id: str
    now: datetime
    retry_limit: int

    def explain_resource(self, stack: Stack, resource_id: str) -> WaitingResource | None:
        """Return what the resource waits for; None if it has no job."""
        if not stack.in_progress:
            return None
        chosen = JobFilter(UNFINISHED, [stack.id], resource_id)
        for explained in self._explain(workload.list_jobs(self.connection, chosen, limit=1)):
            return self._with_queue_position(explained)
        return None

    def explain_stacks(self, stack_ids: Sequence[str], limit: int) -> list[WaitingResource]:
        """Return what at most ``limit`` resources of the stacks wait for, BLOCKED ones last."""
        jobs = workload.list_jobs(self.connection, JobFilter(UNFINISHED, stack_ids), limit)
        jobs.sort(key=lambda job: job.state is JobState.BLOCKED)
        return self._explain(jobs)

    def _explain(self, jobs: Sequence[ListedJob]) -> list[WaitingResource]:
        if not jobs:
            return []
        ids = [job.resource_id for job in jobs]
        tries = waiting.count_tries(self.connection, ids)
        blocked = [job.resource_id for job in jobs if job.state is JobState.BLOCKED]
        needed = waiting.find_unready_requirements(self.connection, blocked) if blocked else {}
        types = {each.resource_type for several in needed.values() for each in several}
        types |= {job.resource_type for job in jobs if job.state in _WORKED_ON}
        usual = read_usual_durations(self.connection, self.project_id, types) if types else {}
        return [
            WaitingResource(
                job=job,
                message=self._message(
                    job, needed.get(job.resource_id, ()), tries.get(job.resource_id, 0), usual
                ),
                requirements=tuple(needed.get(job.resource_id, ())),
                tries=tries.get(job.resource_id, 0),
            )
            for job in jobs
        ]

    def _with_queue_position(self, explained: WaitingResource) -> WaitingResource:
        job = explained.job
        if job.state is not JobState.SCHEDULABLE or job.since is None:
            return explained
        position = waiting.count_in_queue(self.connection, self.project_id, job.since) + 1
        message = f"{explained.message}: place {position} in the project's queue"
        return replace(explained, message=message, queue_position=position)

    def _message(
        self,
        job: ListedJob,
        requirements: Sequence[UnreadyResource],
        tries: int,
        usual: TypeHistory,
    ) -> str:
        """Return what the job waits for, in one sentence without a full stop."""
        if job.state is JobState.BLOCKED:
            return _blocked_message(requirements, self.now, usual)
        if job.state is JobState.AT_BREAKPOINT:
            return f"waits at the breakpoint {job.hook} until a user clears it"
        message = _MESSAGES[job.state]
        if job.state is JobState.RETRY and tries:
            message = f"waits for try {tries + 1} of {self.retry_limit + 1}"
        if job.state is JobState.RETRY and job.observe_at is not None:
            message += f" in {_seconds(job.observe_at, self.now)}"
        elif job.since is not None:
            message += f", {_seconds(self.now, job.since)} so far"
        if job.state in _WORKED_ON:
            message += _usual_text(job.resource_type, job.action, usual)
        failed = job.state is JobState.RETRY and job.status_reason
        return f"{message}: {job.status_reason}" if failed else message


def without_worker(explained: WaitingResource) -> WaitingResource:
    """Return an explanation without the worker, for those who do not administer the cloud."""
    job = replace(explained.job, worker_id=None, worker_host=None, lease_expires_at=None)
    return replace(explained, job=job)


def _blocked_message(
    requirements: Sequence[UnreadyResource], now: datetime, usual: TypeHistory
) -> str:
    if not requirements:
        return "waits for the resources that it needs"
    shown = [_requirement_text(each, now, usual) for each in requirements[:_SHOWN_REQUIREMENTS]]
    rest = len(requirements) - len(shown)
    return f"waits for {', '.join(shown)}" + (f" and {rest} more" if rest else "")


def _requirement_text(requirement: UnreadyResource, now: datetime, usual: TypeHistory) -> str:
    status, level = f"{requirement.action}_{requirement.status}", requirement.level
    name = requirement.name if level is None else f"{requirement.name} to be {level}"
    if requirement.started_at is None or requirement.status is not Status.IN_PROGRESS:
        return f"{name} ({status})"
    usually = _usual_text(requirement.resource_type, requirement.action, usual)
    return f"{name} ({status}, {_seconds(now, requirement.started_at)}{usually})"


def _usual_text(resource_type: str, action: Action | None, usual: TypeHistory) -> str:
    """Return how long the action usually takes; empty if that is unknown or very short."""
    seconds = usual.get((resource_type, str(action)), 0.0)
    return f", usually {seconds:.0f} s" if seconds >= _SHORTEST_SHOWN_S else ""


def _seconds(later: datetime, earlier: datetime) -> str:
    return f"{max(0, round((later - earlier).total_seconds()))} s"
