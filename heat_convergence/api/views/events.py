"""Events as clients read them.

Pure functions of rows and the base URL; source: docs/reference/rest-api.rst, Views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.api.views.formats import format_status, format_time
from heat_convergence.api.views.links import event_url, make_link, resource_url, stack_url
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.text_redaction import mask_values

Json = Any


def format_event(
    event: Event, stack: Stack, base_url: str, root_stack: Stack | None = None
) -> dict[str, Json]:
    """Return an event as lists show it.

    Args:
        event: the event.
        stack: the event's.
        base_url: scheme, host and mount point of the request.
        root_stack: the root of the tree, linked where events of a whole tree are requested.
    """
    links = [
        make_link(event_url(base_url, stack, event.resource_name, event.id), "self"),
        make_link(resource_url(base_url, stack, event.resource_name), "resource"),
        make_link(stack_url(base_url, stack), "stack"),
    ]
    if root_stack is not None:
        links.append(make_link(stack_url(base_url, root_stack), "root_stack"))
    return {
        "id": event.id,
        "links": links,
        "event_time": format_time(event.created_at),
        "resource_name": event.resource_name,
        "logical_resource_id": event.resource_name,
        "resource_status": format_status(event.action, event.status),
        "resource_status_reason": event.reason,
        "physical_resource_id": event.physical_id,
    }


def format_event_detail(event: Event, stack: Stack, base_url: str) -> dict[str, Json]:
    """Return an event as it is shown alone, without secrets in the properties."""
    return {
        **format_event(event, stack, base_url),
        "resource_type": event.resource_type,
        "resource_properties": format_properties(event.properties or {}, event.sensitive),
    }


def format_properties(properties: Mapping[str, Json], sensitive: bool) -> dict[str, Json]:
    """Return an event's properties, masked if they may contain secrets."""
    shown: dict[str, Json] = mask_values(dict(properties)) if sensitive else dict(properties)
    return shown
