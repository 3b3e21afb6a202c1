"""Events as sinks receive them. Pure functions.

Source: docs/reference/events-and-states.rst, "Event sinks".
"""

from __future__ import annotations

from typing import Any

from heat_convergence.convergence.model.event import Event

Json = Any
_VERSION, _TYPE = "0.1", "os.heat.event"


def build_event_document(event: Event) -> dict[str, Json]:
    """Return the document of an event; properties that may hold a secret are left out."""
    properties = {} if event.sensitive else dict(event.properties or {})
    return {
        "timestamp": event.created_at.replace(tzinfo=None).isoformat(),
        "version": _VERSION,
        "type": _TYPE,
        "id": event.id,
        "payload": {
            "resource_name": event.resource_name,
            "physical_resource_id": event.physical_id,
            "stack_id": event.stack_id,
            "resource_action": str(event.action),
            "resource_status": str(event.status),
            "resource_status_reason": event.reason,
            "resource_type": event.resource_type,
            "resource_properties": properties,
            "version": _VERSION,
        },
    }
