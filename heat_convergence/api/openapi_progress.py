"""The schemas of responses about progress and timelines.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    COUNT,
    MAYBE,
    MAYBE_COUNT,
    TEXT,
    Schema,
    list_of,
    object_with,
    texts,
)
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.timeline.resource_timeline import Phase
from heat_convergence.template.environment.readiness import ReadinessLevel


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, schema]}


WAITING: Schema = _or_null(
    object_with(
        message=TEXT,
        state={"type": "string", "enum": [state.name for state in JobState]},
        since=MAYBE,
        required_resources=list_of(TEXT),
        required_levels={
            "type": "object",
            "additionalProperties": {"enum": [level.value for level in ReadinessLevel]},
        },
        failed_tries=COUNT,
        queue_position=MAYBE_COUNT,
        hook=MAYBE,
        next_try_or_read_at=MAYBE,
        worker=_or_null(object_with(id=TEXT, host=MAYBE, lease_expires_at=MAYBE)),
    )
)

QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "progress": {"limit": COUNT},
    "timeline": {
        "version": COUNT,
        "nested_depth": COUNT,
        "limit": COUNT,
        "format": {"type": "string", "enum": ["json", "chrome"]},
    },
}
_SECONDS: Schema = {"type": "number"}
_TRAVERSAL: Mapping[str, Schema] = {
    **texts("action", "status", "started_at"),
    "version": COUNT,
    "ended_at": MAYBE,
}
_SEGMENTS = list_of(
    object_with(
        **texts("started_at", "ended_at", "reason"),
        phase={"type": "string", "enum": [phase.value for phase in Phase]},
        seconds=_SECONDS,
    )
)
_TIMELINE_OF: Mapping[str, Schema] = {
    **texts("resource_name", "resource_type", "path", "stack_id"),
    "unblocked_by": MAYBE,
    "segments": _SEGMENTS,
}
_TIMES = ("posted_at", "claimed_at", "call_started_at", "call_ended_at", "observed_at", "ready_at")
_TIMELINE = object_with(
    **texts("stack_id", "stack_name"),
    **_TRAVERSAL,
    wall_time_s=_SECONDS,
    critical_path_s=_SECONDS,
    phases={
        "type": "object",
        "additionalProperties": object_with(seconds=_SECONDS, share=_SECONDS),
    },
    critical_path=list_of(
        object_with(**_TIMELINE_OF, **texts("started_at", "ended_at"), seconds=_SECONDS)
    ),
    resources_total=COUNT,
    resources=list_of(
        object_with(
            **_TIMELINE_OF,
            **texts("action", "status", "released_at"),
            **dict.fromkeys(_TIMES, MAYBE),
            retry_count=COUNT,
            takeover_count=COUNT,
        )
    ),
    traversals=list_of(object_with(**_TRAVERSAL)),
    remaining=_or_null(
        object_with(seconds={"type": ["number", "null"]}, ends_at=MAYBE, unknown_count=COUNT)
    ),
    waits_for=list_of(object_with(**texts("resource_name", "stack_id", "message"))),
)
_TRACE = object_with(displayTimeUnit=TEXT, traceEvents=list_of({"type": "object"}))

RESPONSES: Mapping[str, Schema] = {
    "timeline": {"anyOf": [object_with(timeline=_TIMELINE), _TRACE]},
    "progress": object_with(
        progress=object_with(
            **texts("stack_id", "stack_name", "stack_status", "stack_status_reason"),
            started_at=MAYBE,
            resources_total=COUNT,
            jobs={"type": "object", "additionalProperties": COUNT},
            first_failure=_or_null(object_with(**texts("reason", "path", "remedy"))),
            stabilization=_or_null(object_with(window=COUNT, healthy_since=MAYBE, until=MAYBE)),
            resources=list_of(
                object_with(
                    **texts("resource_name", "resource_type", "path", "stack_id"), waiting=WAITING
                )
            ),
        )
    ),
}
