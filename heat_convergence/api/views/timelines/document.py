"""Timelines as clients read them.

Pure functions of what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heat_convergence.api.views.formats import format_precise_time
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.timeline.marks import MarkType
from heat_convergence.convergence.timeline.resource_timeline import (
    ResourceTimeline,
    Segment,
    sum_phases,
)
from heat_convergence.convergence.timeline.traversal_timeline import PathStep, Traversal
from heat_convergence.stacks.reads.timeline_estimate import RemainingTime
from heat_convergence.stacks.reads.timelines import ReadTimeline
from heat_convergence.stacks.reads.waiting import WaitingResource

Json = Any
_TIMES: Mapping[str, MarkType] = {
    "posted_at": MarkType.POSTED,
    "claimed_at": MarkType.CLAIMED,
    "call_started_at": MarkType.CALL_STARTED,
    "call_ended_at": MarkType.CALL_ENDED,
    "observed_at": MarkType.OBSERVED,
}


def format_timeline(
    stack: Stack,
    found: ReadTimeline,
    limit: int,
    estimate: RemainingTime | None,
    waiting: Sequence[WaitingResource],
) -> dict[str, Json]:
    """Return a timeline.

    Args:
        stack: the stack.
        found: the timeline and the recorded traversals.
        limit: how many resources are shown, in the order in which they were released.
        estimate: how long a traversal under way is going to take.
        waiting: what its unfinished resources wait for.
    """
    timeline = found.timeline
    resources, path = timeline.walk(), timeline.critical_path()
    paths = {each.resource_id: each.path for each in resources}
    on_path = sum(step.seconds for step in path)
    return {
        "stack_id": stack.id,
        "stack_name": stack.name,
        **_format_traversal(timeline.traversal),
        "wall_time_s": timeline.wall_seconds,
        "critical_path_s": on_path,
        "phases": _format_phases([each for step in path for each in step.segments], on_path),
        "critical_path": [_format_step(step, paths) for step in path],
        "resources_total": len(resources),
        "resources": [_format_resource(each, paths) for each in resources[:limit]],
        "traversals": [_format_traversal(each) for each in found.traversals],
        "remaining": None if estimate is None else _format_estimate(estimate),
        "waits_for": [_format_waiting(each) for each in waiting],
    }


def _format_traversal(traversal: Traversal) -> dict[str, Json]:
    return {
        "version": traversal.version,
        "action": traversal.action,
        "status": traversal.status,
        "started_at": format_precise_time(traversal.started_at),
        "ended_at": format_precise_time(traversal.ended_at),
    }


def _format_phases(segments: Iterable[Segment], total: float) -> dict[str, Json]:
    return {
        phase.value: {"seconds": seconds, "share": seconds / total if total else 0.0}
        for phase, seconds in sum_phases(segments).items()
    }


def _format_estimate(estimate: RemainingTime) -> dict[str, Json]:
    return {
        "seconds": estimate.seconds,
        "ends_at": format_precise_time(estimate.ends_at),
        "unknown_count": estimate.unknown_count,
    }


def _format_waiting(waiting: WaitingResource) -> dict[str, Json]:
    job = waiting.job
    return {"resource_name": job.name, "stack_id": job.stack_id, "message": waiting.message}


def _format_step(step: PathStep, paths: Mapping[str, str]) -> dict[str, Json]:
    return {
        **_identify(step.resource),
        "started_at": format_precise_time(step.started_at),
        "ended_at": format_precise_time(step.ended_at),
        "seconds": step.seconds,
        "unblocked_by": _cause_of(step.resource, paths),
        "segments": [_format_segment(each) for each in step.segments],
    }


def _format_resource(resource: ResourceTimeline, paths: Mapping[str, str]) -> dict[str, Json]:
    return {
        **_identify(resource),
        "action": resource.action,
        "status": resource.status,
        "released_at": format_precise_time(resource.released_at),
        **{name: format_precise_time(resource.last(mark)) for name, mark in _TIMES.items()},
        "ready_at": format_precise_time(resource.ended_at),
        "unblocked_by": _cause_of(resource, paths),
        "retry_count": resource.retry_count,
        "takeover_count": resource.takeover_count,
        "segments": [_format_segment(each) for each in resource.segments],
    }


def _identify(resource: ResourceTimeline) -> dict[str, Json]:
    return {
        "resource_name": resource.name,
        "resource_type": resource.resource_type,
        "path": resource.path,
        "stack_id": resource.stack_id,
    }


def _cause_of(resource: ResourceTimeline, paths: Mapping[str, str]) -> str | None:
    """Return the path of what has unblocked a resource; None for the start of the traversal."""
    cause = resource.cause_id
    return None if cause is None else paths.get(cause, cause)


def _format_segment(segment: Segment) -> dict[str, Json]:
    return {
        "phase": segment.phase.value,
        "started_at": format_precise_time(segment.started_at),
        "ended_at": format_precise_time(segment.ended_at),
        "seconds": segment.seconds,
        "reason": segment.reason,
    }
