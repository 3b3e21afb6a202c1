"""Snapshots as clients read them; source: heat-facts/rest_api.md, Views."""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.model.snapshot import Snapshot

Json = Any


def format_snapshot(saved: Snapshot) -> dict[str, Json]:
    return {
        "id": saved.id,
        "name": saved.name,
        "action": str(saved.action),
        "status": str(saved.status),
        "status_reason": saved.status_reason,
        "data": saved.data,
        "creation_time": format_time(saved.created_at),
    }
