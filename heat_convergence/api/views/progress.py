"""The progress of stacks and resources as clients read it.

Pure functions of what was read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from heat_convergence.api.views.formats import format_status, format_time
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.waiting import JobCounts
from heat_convergence.db.reads.workload import ListedJob
from heat_convergence.stacks.reads.remedies import find_remedy
from heat_convergence.stacks.reads.waiting import WaitingResource

Json = Any

_PATH_PART = re.compile(r"resources\.([^.:\s]+)")


def format_progress(
    stack: Stack,
    tree: Mapping[str, Stack],
    counts: JobCounts,
    waiting_resources: Sequence[WaitingResource],
) -> dict[str, Json]:
    """Return the progress of a stack.

    Args:
        stack: the stack.
        tree: the stack and its nested stacks, by id.
        counts: the numbers of resources and jobs in the tree.
        waiting_resources: the unfinished resources that are shown.
    """
    return {
        "stack_id": stack.id,
        "stack_name": stack.name,
        "stack_status": format_status(stack.action, stack.status),
        "stack_status_reason": stack.status_reason,
        "started_at": format_time(stack.started_at),
        "resources_total": counts.total,
        "jobs": {state.name: count for state, count in sorted(counts.unfinished.items())},
        "first_failure": _format_first_failure(stack),
        "stabilization": _format_stabilization(stack),
        "resources": [_format_entry(each, tree, stack) for each in waiting_resources],
    }


def _format_stabilization(stack: Stack) -> dict[str, Json] | None:
    """Return the stabilization window of a stack; None unless it is open."""
    if not stack.in_progress or not stack.stabilizing:
        return None
    since, window_s = stack.stable_since, stack.stabilization_s or 0
    return {
        "window": window_s,
        "healthy_since": format_time(since),
        "until": format_time(since and since + timedelta(seconds=window_s)),
    }


def format_waiting(waiting: WaitingResource | None) -> dict[str, Json] | None:
    """Return what a resource waits for; None for a finished one."""
    if waiting is None:
        return None
    job = waiting.job
    return {
        "message": waiting.message,
        "state": job.state.name,
        "since": format_time(job.since),
        "required_resources": [each.name for each in waiting.requirements],
        "required_levels": {
            each.name: each.level.value for each in waiting.requirements if each.level is not None
        },
        "failed_tries": waiting.tries,
        "queue_position": waiting.queue_position,
        "hook": job.hook,
        "next_try_or_read_at": format_time(job.observe_at),
        "worker": _format_worker(job),
    }


def _format_worker(job: ListedJob) -> dict[str, Json] | None:
    """Return the worker that has the lease of a job; None if there is none."""
    if job.worker_id is None:
        return None
    return {
        "id": job.worker_id,
        "host": job.worker_host,
        "lease_expires_at": format_time(job.lease_expires_at),
    }


def _format_entry(
    waiting: WaitingResource, tree: Mapping[str, Stack], root: Stack
) -> dict[str, Json]:
    job = waiting.job
    return {
        "resource_name": job.name,
        "resource_type": job.resource_type,
        "path": _path_of(tree[job.stack_id], tree, root) + job.name,
        "stack_id": job.stack_id,
        "waiting": format_waiting(waiting),
    }


def _path_of(stack: Stack, tree: Mapping[str, Stack], root: Stack) -> str:
    """Return the names of the resources from the shown stack down to this one."""
    path = ""
    while stack.id != root.id:
        path = f"{stack.parent_resource}/{path}"
        stack = tree.get(stack.owner_id or "", root)
    return path


def _format_first_failure(stack: Stack) -> dict[str, Json] | None:
    """Return the first cause of a failure, where it is and what to do; None without one."""
    failed = stack.status is Status.FAILED
    reason = stack.status_reason if failed else stack.first_failure_reason
    if not reason:
        return None
    return {
        "reason": reason,
        "path": "/".join(_PATH_PART.findall(reason)),
        "remedy": find_remedy(reason),
    }
