"""The schemas of requests and responses about the linter.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    COUNT,
    MAP,
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
}
