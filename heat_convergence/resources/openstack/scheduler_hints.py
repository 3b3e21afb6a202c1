"""What schedulers are told of a server or a volume, beside the template's own wishes.

Called when one is made.  Where an operator wants it, so that a filter may spread or gather
what belongs to one stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any


def build_scheduler_hints(view: ResourceContext) -> dict[str, Json]:
    """Empty where there is nothing to tell."""
    given: Mapping[str, Json] = view.properties.get("scheduler_hints") or {}
    settings = getattr(view.cloud, "settings", None)
    if settings is None or not settings.send_scheduler_hints:
        return dict(given)
    return {
        **given,
        "heat_root_stack_id": view.cloud.tree_id,
        "heat_stack_id": view.stack_id,
        "heat_stack_name": view.stack_name,
        "heat_resource_name": view.name,
        "heat_resource_uuid": view.resource_id,
    }
