"""Resources in quarantine as clients read them.

Pure functions of what was read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.quarantine.entry import QuarantineEntry

Json = Any
STATUSES = ("RETRYING", "WAITING")


def format_quarantined(entry: QuarantineEntry, blockers: Collection[str]) -> dict[str, Json]:
    """Return a resource in quarantine.

    Args:
        entry: the resource.
        blockers: the ids of resources and stacks in quarantine that entries wait for.
    """
    awaited = [each for each in entry.waits_for if each in blockers]
    waiting = bool(awaited) or entry.next_at is None
    return {
        "id": entry.resource_id,
        "stack_id": entry.stack_id,
        "stack_name": entry.stack_name,
        "resource_name": entry.resource_name,
        "resource_type": entry.resource_type,
        "physical_resource_id": entry.physical_id or "",
        "quarantine_status": "WAITING" if waiting else "RETRYING",
        "quarantine_reason": entry.reason,
        "tries": entry.tries,
        "since": format_time(entry.since),
        "next_at": None if waiting else format_time(entry.next_at),
        "waits_for": awaited,
    }
