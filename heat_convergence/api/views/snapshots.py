"""Snapshots as clients read them; source: docs/reference/rest-api.rst, Views."""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.model.snapshot import Snapshot

Json = Any


def format_snapshot(snapshot: Snapshot) -> dict[str, Json]:
    """Return a snapshot as lists show it and alone."""
    return {
        "id": snapshot.id,
        "name": snapshot.name,
        "action": str(snapshot.action),
        "status": str(snapshot.status),
        "status_reason": snapshot.status_reason,
        "data": snapshot.data,
        "creation_time": format_time(snapshot.created_at),
    }
