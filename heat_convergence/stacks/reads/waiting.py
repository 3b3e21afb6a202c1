"""Explanations of what unfinished resources wait for.

Called by the API for resources and stacks in progress.  Reads a constant number of statements
for any number of jobs, none for a stack at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads import waiting, workload
from heat_convergence.db.reads.waiting import UnreadyResource
from heat_convergence.db.reads.workload import JobFilter, ListedJob

UNFINISHED = frozenset(JobState) - {JobState.CANCELLED}
_SHOWN_REQUIREMENTS = 5
_MESSAGES: Mapping[JobState, str] = {
    JobState.QUEUED: "waits for room among the jobs of its stack",
    JobState.SCHEDULABLE: "waits for the turn of its project",
    JobState.POSTED: "waits for an engine",
    JobState.RUNNING: "an engine works on it",
    JobState.AWAITING_OBSERVATION: "waits until the service has finished",
    JobState.RETRY: "waits for its next try",
    JobState.REPLACE: "waits for its replacement",
}


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


def explain_resource(
    connection: Any, stack: Stack, resource_id: str, now: datetime, retry_limit: int
) -> WaitingResource | None:
    """Return what the resource waits for; None if it has no job."""
    if not stack.in_progress:
        return None
    chosen = JobFilter(UNFINISHED, [stack.id], resource_id)
    jobs = workload.list_jobs(connection, chosen, limit=1)
    for explained in _explain(connection, jobs, now, retry_limit):
        return _with_queue_position(connection, stack.project_id, explained)
    return None


def explain_stacks(
    connection: Any,
    stack_ids: Sequence[str],
    now: datetime,
    retry_limit: int,
    limit: int,
) -> list[WaitingResource]:
    """Return what at most ``limit`` resources of the stacks wait for, BLOCKED ones last."""
    jobs = workload.list_jobs(connection, JobFilter(UNFINISHED, stack_ids), limit)
    jobs.sort(key=lambda job: job.state is JobState.BLOCKED)
    return _explain(connection, jobs, now, retry_limit)


def _explain(
    connection: Any, jobs: Sequence[ListedJob], now: datetime, retry_limit: int
) -> list[WaitingResource]:
    if not jobs:
        return []
    ids = [job.resource_id for job in jobs]
    tries = waiting.count_tries(connection, ids)
    blocked = [job.resource_id for job in jobs if job.state is JobState.BLOCKED]
    needed = waiting.find_unready_requirements(connection, blocked) if blocked else {}
    return [
        WaitingResource(
            job=job,
            message=_message(
                job,
                needed.get(job.resource_id, ()),
                tries.get(job.resource_id, 0),
                retry_limit,
                now,
            ),
            requirements=tuple(needed.get(job.resource_id, ())),
            tries=tries.get(job.resource_id, 0),
        )
        for job in jobs
    ]


def _with_queue_position(
    connection: Any, project_id: str, explained: WaitingResource
) -> WaitingResource:
    job = explained.job
    if job.state is not JobState.SCHEDULABLE or job.since is None:
        return explained
    position = waiting.count_in_queue(connection, project_id, job.since) + 1
    message = f"{explained.message}: place {position} in the project's queue"
    return replace(explained, message=message, queue_position=position)


def _message(
    job: ListedJob,
    requirements: Sequence[UnreadyResource],
    tries: int,
    retry_limit: int,
    now: datetime,
) -> str:
    """Return what the job waits for, in one sentence without a full stop."""
    if job.state is JobState.BLOCKED:
        return _blocked_message(requirements, now)
    if job.state is JobState.AT_BREAKPOINT:
        return f"waits at the breakpoint {job.hook} until a user clears it"
    message = _MESSAGES[job.state]
    if job.state is JobState.RETRY and tries:
        message = f"waits for try {tries + 1} of {retry_limit + 1}"
    if job.state is JobState.RETRY and job.observe_at is not None:
        message += f" in {_seconds(job.observe_at, now)}"
    elif job.since is not None:
        message += f", {_seconds(now, job.since)} so far"
    failed = job.state is JobState.RETRY and job.status_reason
    return f"{message}: {job.status_reason}" if failed else message


def _blocked_message(requirements: Sequence[UnreadyResource], now: datetime) -> str:
    if not requirements:
        return "waits for the resources that it needs"
    shown = [_requirement_text(each, now) for each in requirements[:_SHOWN_REQUIREMENTS]]
    rest = len(requirements) - len(shown)
    return f"waits for {', '.join(shown)}" + (f" and {rest} more" if rest else "")


def _requirement_text(requirement: UnreadyResource, now: datetime) -> str:
    status = f"{requirement.action}_{requirement.status}"
    if requirement.started_at is None or requirement.status is not Status.IN_PROGRESS:
        return f"{requirement.name} ({status})"
    return f"{requirement.name} ({status}, {_seconds(now, requirement.started_at)})"


def _seconds(later: datetime, earlier: datetime) -> str:
    return f"{max(0, round((later - earlier).total_seconds()))} s"
