"""Snapshots as clients read them; source: heat-facts/rest_api.md, Views."""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.times import shown_time
from heat_convergence.convergence.model import SavedStack

Json = Any


def item(saved: SavedStack) -> dict[str, Json]:
    return {
        "id": saved.id,
        "name": saved.name,
        "action": str(saved.action),
        "status": str(saved.status),
        "status_reason": saved.status_reason,
        "data": saved.data,
        "creation_time": shown_time(saved.created_at),
    }
