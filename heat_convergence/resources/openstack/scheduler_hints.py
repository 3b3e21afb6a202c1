"""Scheduler hints of servers and volumes that name the stack and resource.

Called at a create.  Operators enable them by ``stack_scheduler_hints``, so that a scheduler filter
may spread or gather the resources of a stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


def build_scheduler_hints(context: ResourceContext) -> dict[str, Json]:
    """Return the template's hints and, if enabled, those about the stack."""
    hints: Mapping[str, Json] = context.properties.get("scheduler_hints") or {}
    settings = getattr(context.cloud, "settings", None)
    if settings is None or not settings.send_scheduler_hints:
        return dict(hints)
    return {
        **hints,
        "heat_root_stack_id": context.cloud.tree_id,
        "heat_stack_id": context.stack_id,
        "heat_stack_name": context.stack_name,
        "heat_resource_name": context.name,
        "heat_resource_uuid": context.resource_id,
    }
