"""The work of the whole service as administrators read it.

Pure functions of what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.reads.overview import (
    FailedStack,
    ListedBreaker,
    ProjectWork,
    StackName,
    UnreadGroup,
)
from heat_convergence.db.reads.workload import ListedJob, WorkloadSummary

Json = Any
_UNKNOWN = StackName("", "")


def format_summary(found: WorkloadSummary) -> dict[str, Json]:
    """Return numbers of jobs and stacks."""
    return {
        "jobs": [
            {"job_state": state, "resource_type": name, "count": count}
            for (state, name), count in sorted(found.jobs.items())
        ],
        "stacks": [
            {"stack_status": f"{action}_{status}", "count": count}
            for (action, status), count in sorted(found.stacks.items())
        ],
        "oldest_ready_job_at": format_time(found.oldest_ready_at),
    }


def format_projects(found: Iterable[ProjectWork]) -> list[Json]:
    """Return the numbers of projects."""
    return [
        {
            "project_id": each.project_id,
            "stacks": each.stacks,
            "in_progress": each.in_progress,
            "failed": each.failed,
            "jobs": each.jobs,
        }
        for each in found
    ]


def format_jobs(found: Iterable[ListedJob], names: Mapping[str, StackName]) -> list[Json]:
    """Return jobs with the stacks and the workers that they belong to."""
    return [
        {
            "resource_name": each.name,
            "resource_type": each.resource_type,
            "stack_id": each.stack_id,
            "stack_name": names.get(each.stack_id, _UNKNOWN).name,
            "project_id": names.get(each.stack_id, _UNKNOWN).project_id,
            "job_state": each.state.name,
            "since": format_time(each.since),
            "worker_id": each.worker_id,
            "worker_host": each.worker_host,
        }
        for each in found
    ]


def format_failed_stacks(found: Iterable[FailedStack]) -> list[Json]:
    """Return stacks that have failed."""
    return [
        {
            "id": each.id,
            "stack_name": each.name,
            "project_id": each.project_id,
            "stack_status": f"{each.action}_FAILED",
            "stack_status_reason": each.reason,
            "updated_time": format_time(each.since),
        }
        for each in found
    ]


def format_unread_groups(found: Iterable[UnreadGroup]) -> list[Json]:
    """Return the types of resources that the watch cannot read."""
    return [
        {
            "project_id": each.project_id,
            "resource_type": each.resource_type,
            "reason": each.reason,
            "observed_at": format_time(each.observed_at),
            "next_at": format_time(each.next_at),
        }
        for each in found
    ]


def format_endpoints(workers: Iterable[ServiceRecord], now: datetime) -> list[Json]:
    """Return services that workers do not call for the moment, then those that answer slowly."""
    return [
        {
            "state": state,
            "service": each["service"],
            "region": each["region"],
            "project_id": each["project_id"] or None,
            "failures": each.get("failures"),
            "open_s": each.get("open_s"),
            "calls": each.get("calls"),
            "mean_s": each.get("mean_s"),
            "binary": worker.binary,
            "worker_id": worker.id,
            "worker_host": worker.hostname,
        }
        for state in ("open", "slow")
        for worker in workers
        if worker.is_up(now) and is_readable(worker.endpoint_states)
        for each in (worker.endpoint_states or {}).get(state, ())
    ]


def format_breakers(found: Iterable[ListedBreaker]) -> list[Json]:
    """Return suspected mass losses."""
    return [
        {
            "id": each.id,
            "project_id": each.project_id,
            "resource_type": each.resource_type,
            "region": each.region,
            "lost": each.lost,
            "total": each.total,
            "since": format_time(each.since),
        }
        for each in found
    ]
