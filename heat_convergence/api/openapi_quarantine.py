"""The schemas of requests and responses about the quarantine and the inventory.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    COUNT,
    MAYBE,
    TEXT,
    Schema,
    list_of,
    object_with,
)
from heat_convergence.api.views.quarantine import STATUSES

_ENTRY = object_with(
    id=TEXT,
    stack_id=TEXT,
    stack_name=TEXT,
    resource_name=TEXT,
    resource_type=TEXT,
    physical_resource_id=TEXT,
    quarantine_status={"type": "string", "enum": list(STATUSES)},
    quarantine_reason=TEXT,
    tries=COUNT,
    since=MAYBE,
    next_at=MAYBE,
    waits_for=list_of(TEXT),
)

QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "quarantine": {"limit": COUNT, "marker": TEXT},
    "inventory": {"type": list_of(TEXT)},
}

RESPONSES: Mapping[str, Schema] = {
    "inventory": object_with(
        inventory=list_of(
            object_with(
                resource_type=TEXT,
                physical_resource_id=TEXT,
                name=MAYBE,
                status=MAYBE,
                created_at=MAYBE,
            )
        ),
        unread=list_of(object_with(resource_type=TEXT, reason=TEXT)),
    ),
    "quarantine": object_with(
        {"links": list_of(object_with(href=TEXT, rel=TEXT))}, quarantine=list_of(_ENTRY)
    ),
    "quarantined": object_with(quarantined={"anyOf": [_ENTRY, {"type": "null"}]}),
}
