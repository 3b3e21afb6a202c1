"""Events as clients read them.

Pure functions of rows and the base URL; source: heat-facts/rest_api.md, Views.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.links import event_url, link, resource_url, stack_url
from heat_convergence.api.views.times import shown_status, shown_time
from heat_convergence.convergence.model import Event, Stack

Json = Any


def item(event: Event, stack: Stack, base_url: str, root: Stack | None = None) -> dict[str, Json]:
    """``root`` is linked where events of a whole tree are asked for."""
    links = [
        link(event_url(base_url, stack, event.resource_name, event.id), "self"),
        link(resource_url(base_url, stack, event.resource_name), "resource"),
        link(stack_url(base_url, stack), "stack"),
    ]
    if root is not None:
        links.append(link(stack_url(base_url, root), "root_stack"))
    return {
        "id": event.id,
        "links": links,
        "event_time": shown_time(event.created_at),
        "resource_name": event.resource_name,
        "logical_resource_id": event.resource_name,
        "resource_status": shown_status(event.action, event.status),
        "resource_status_reason": event.reason,
        "physical_resource_id": event.physical_id,
    }


def shown(event: Event, stack: Stack, base_url: str) -> dict[str, Json]:
    return {
        **item(event, stack, base_url),
        "resource_type": event.resource_type,
        "resource_properties": dict(event.properties or {}),
    }
