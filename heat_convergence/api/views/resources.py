"""Resources as clients read them: in lists and alone.

Pure functions of rows and the base URL; source: heat-facts/rest_api.md, Views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.api.views.links import link, resource_url, stack_url
from heat_convergence.api.views.times import shown_status, shown_time
from heat_convergence.convergence.model import Desired, Stack
from heat_convergence.db.reads.resources import ResourceRow

Json = Any


def item(
    row: ResourceRow,
    stack: Stack,
    base_url: str,
    *,
    required_by: Sequence[str],
    nested: Stack | None = None,
) -> dict[str, Json]:
    """``nested`` is the stack that stands behind the resource, if one does."""
    links = [
        link(resource_url(base_url, stack, row.name), "self"),
        link(stack_url(base_url, stack), "stack"),
    ]
    if nested is not None:
        links.append(link(stack_url(base_url, nested), "nested"))
    shown = {
        "resource_name": row.name,
        "links": links,
        "logical_resource_id": row.name,
        "resource_type": row.type,
        "resource_status": shown_status(row.action, row.status),
        "resource_status_reason": row.status_reason,
        "creation_time": shown_time(row.created_at),
        "updated_time": shown_time(row.updated_at or row.created_at),
        "physical_resource_id": row.physical_id or "",
        "required_by": list(required_by),
    }
    if stack.parent_resource is not None:
        shown["parent_resource"] = stack.parent_resource
    return shown


def required_by(rows: Sequence[ResourceRow]) -> Mapping[tuple[str, str], list[str]]:
    """(stack's id, name) → names of the wanted resources that need it."""
    users: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.desired is Desired.PRESENT:
            for name in row.requires:
                users.setdefault((row.stack_id, name), []).append(row.name)
    return users
