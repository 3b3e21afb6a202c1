"""Timelines in the trace format that Chrome and Perfetto open.

Pure functions of what was read.

Source: Trace Event Format, "Complete Events" and "Metadata Events",
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.timeline.resource_timeline import Segment
from heat_convergence.convergence.timeline.traversal_timeline import TraversalTimeline

Json = Any
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_trace(stack: Stack, timeline: TraversalTimeline) -> dict[str, Json]:
    """Return a timeline in the trace format: a thread for each resource, an event for a phase."""
    resources = timeline.walk()
    critical = {step.resource.resource_id for step in timeline.critical_path()}
    stack_ids = dict.fromkeys(each.stack_id for each in resources)
    processes = {stack_id: number for number, stack_id in enumerate(stack_ids, 1)}
    events: list[dict[str, Json]] = []
    # A thread with the number of a process would be that process's main thread.
    first = len(processes) + 1
    for thread, resource in enumerate(resources, first):
        place = {"pid": processes[resource.stack_id], "tid": thread}
        prefix = resource.path.rpartition("/")[0]
        shown = f"{stack.name}/{prefix}" if prefix else stack.name
        events += [
            {"ph": "M", "name": "process_name", **place, "args": {"name": shown}},
            {"ph": "M", "name": "thread_name", **place, "args": {"name": resource.name}},
        ]
        args = {
            "resource_type": resource.resource_type,
            "status": resource.status,
            "on_critical_path": resource.resource_id in critical,
        }
        events += [_format_event(each, place, args) for each in resource.own_segments]
    if timeline.window is not None:
        place = {"pid": processes.get(stack.id, 1), "tid": first + len(resources)}
        name = {"name": "stabilization window"}
        events.append({"ph": "M", "name": "thread_name", **place, "args": name})
        args = {"on_critical_path": True}
        events.append(_format_event(timeline.window, place, args))
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _format_event(
    segment: Segment, place: Mapping[str, int], args: Mapping[str, Json]
) -> dict[str, Json]:
    return {
        "ph": "X",
        "name": segment.phase.value,
        "cat": "resource",
        "ts": (segment.started_at - _EPOCH) // timedelta(microseconds=1),
        "dur": round(segment.seconds * 1_000_000),
        **place,
        "args": {**args, "reason": segment.reason} if segment.reason else dict(args),
    }
