"""The schemas of responses about progress.

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


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, schema]}


WAITING: Schema = _or_null(
    object_with(
        message=TEXT,
        state={"type": "string", "enum": [state.name for state in JobState]},
        since=MAYBE,
        required_resources=list_of(TEXT),
        failed_tries=COUNT,
        queue_position=MAYBE_COUNT,
        hook=MAYBE,
        next_try_or_read_at=MAYBE,
        worker=_or_null(object_with(id=TEXT, host=MAYBE, lease_expires_at=MAYBE)),
    )
)

QUERIES: Mapping[str, Mapping[str, Schema]] = {"progress": {"limit": COUNT}}

RESPONSES: Mapping[str, Schema] = {
    "progress": object_with(
        progress=object_with(
            **texts("stack_id", "stack_name", "stack_status", "stack_status_reason"),
            started_at=MAYBE,
            resources_total=COUNT,
            jobs={"type": "object", "additionalProperties": COUNT},
            first_failure=_or_null(object_with(**texts("reason", "path", "remedy"))),
            resources=list_of(
                object_with(
                    **texts("resource_name", "resource_type", "path", "stack_id"), waiting=WAITING
                )
            ),
        )
    )
}
