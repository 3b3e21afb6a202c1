"""The schemas of requests and responses about the linter and the whole service.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    COUNT,
    MAP,
    MAYBE,
    MAYBE_COUNT,
    TEXT,
    Schema,
    list_of,
    object_with,
)
from heat_convergence.lint.rules import LintSeverity

_FINDING = object_with(
    rule=TEXT,
    severity={"type": "string", "enum": [each.value for each in LintSeverity]},
    title=TEXT,
    line=MAYBE_COUNT,
    column=MAYBE_COUNT,
    message=TEXT,
    remedy=TEXT,
)

_JOB = object_with(
    resource_name=TEXT,
    resource_type=TEXT,
    stack_id=TEXT,
    stack_name=TEXT,
    project_id=TEXT,
    job_state=TEXT,
    since=MAYBE,
    worker_id=MAYBE,
    worker_host=MAYBE,
)
_OVERVIEW = object_with(
    jobs=list_of(object_with(job_state=TEXT, resource_type=TEXT, count=COUNT)),
    stacks=list_of(object_with(stack_status=TEXT, count=COUNT)),
    oldest_ready_job_at=MAYBE,
    projects=list_of(
        object_with(project_id=TEXT, stacks=COUNT, in_progress=COUNT, failed=COUNT, jobs=COUNT)
    ),
    running=list_of(_JOB),
    queued=list_of(_JOB),
    failed_stacks=list_of(
        object_with(
            id=TEXT,
            stack_name=TEXT,
            project_id=TEXT,
            stack_status=TEXT,
            stack_status_reason=TEXT,
            updated_time=MAYBE,
        )
    ),
    unread=list_of(
        object_with(
            project_id=TEXT, resource_type=TEXT, reason=TEXT, observed_at=MAYBE, next_at=MAYBE
        )
    ),
    endpoints=list_of(
        object_with(
            state={"type": "string", "enum": ["open", "slow"]},
            service=TEXT,
            region=TEXT,
            project_id=MAYBE,
            failures=MAYBE_COUNT,
            open_s=MAYBE_COUNT,
            calls=MAYBE_COUNT,
            mean_s={"type": ["number", "null"]},
            binary=TEXT,
            worker_id=TEXT,
            worker_host=TEXT,
        )
    ),
    breakers=list_of(
        object_with(
            id=TEXT,
            project_id=TEXT,
            resource_type=TEXT,
            region=TEXT,
            lost=COUNT,
            total=COUNT,
            since=MAYBE,
        )
    ),
)

QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "template_schema": {"document": {"type": "string", "enum": ["template", "environment"]}},
}

BODIES: Mapping[str, Schema] = {
    "lint": object_with(
        {
            "environment": {"type": ["object", "string", "null"]},
            "environment_files": {"type": ["array", "null"], "items": TEXT},
            "parameters": {"type": ["object", "null"]},
            "files": {"type": ["object", "null"], "additionalProperties": TEXT},
        },
        template={"type": ["object", "string"]},
    ),
}

RESPONSES: Mapping[str, Schema] = {
    "lint": object_with(findings=list_of(_FINDING), count=COUNT),
    "template_schema": MAP,
    "overview": object_with(overview=_OVERVIEW),
}
