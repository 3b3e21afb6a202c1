"""Resources as clients read them: in lists and alone.

Pure functions of rows and the base URL; source: docs/reference/rest-api.rst, Views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.api.views.drift import format_resource_drift
from heat_convergence.api.views.formats import format_status, format_time
from heat_convergence.api.views.links import make_link, resource_url, stack_url
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow

Json = Any


def format_resource(
    row: ResourceRow,
    stack: Stack,
    base_url: str,
    *,
    required_by: Sequence[str],
    nested_stack: Stack | None = None,
) -> dict[str, Json]:
    """Return a resource as lists show it.

    Args:
        row: the resource.
        stack: the resource's.
        base_url: scheme, host and mount point of the request.
        required_by: names of the resources that need it.
        nested_stack: its nested stack, if it has one.
    """
    links = [
        make_link(resource_url(base_url, stack, row.name), "self"),
        make_link(stack_url(base_url, stack), "stack"),
    ]
    if nested_stack is not None:
        links.append(make_link(stack_url(base_url, nested_stack), "nested"))
    shown = {
        "resource_name": row.name,
        "links": links,
        "logical_resource_id": row.name,
        "resource_type": row.type,
        "resource_status": format_status(row.action, row.status),
        "resource_status_reason": row.status_reason,
        "creation_time": format_time(row.created_at),
        "updated_time": format_time(row.updated_at or row.created_at),
        "physical_resource_id": row.physical_id or "",
        "required_by": list(required_by),
        **format_resource_drift(row.drift),
    }
    if stack.parent_resource is not None:
        shown["parent_resource"] = stack.parent_resource
    return shown


def index_required_by(rows: Sequence[ResourceRow]) -> Mapping[tuple[str, str], list[str]]:
    """Return the names of the desired resources that need one, by stack id and name."""
    users: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.desired is DesiredState.PRESENT:
            for name in row.requires:
                users.setdefault((row.stack_id, name), []).append(row.name)
    return users
