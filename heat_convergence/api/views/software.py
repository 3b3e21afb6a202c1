"""Software configurations and deployments as clients read them.

Pure functions of rows.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.times import shown_time
from heat_convergence.db.software import Config, Deployment

Json = Any


def config_item(config: Config, *, with_project: bool) -> dict[str, Json]:
    """As lists have it."""
    shown: dict[str, Json] = {
        "id": config.id,
        "name": config.name,
        "group": config.tool,
        "creation_time": shown_time(config.created_at),
    }
    return shown | ({"project": config.project_id} if with_project else {})


def config(found: Config) -> dict[str, Json]:
    return {**config_item(found, with_project=False), **found.body}


def deployment(found: Deployment) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": found.id,
        "server_id": found.server_id,
        "config_id": found.config_id,
        "input_values": found.input_values or {},
        "output_values": found.output_values,
        "action": found.action,
        "status": found.status,
        "status_reason": found.status_reason,
        "creation_time": shown_time(found.created_at),
    }
    if found.updated_at is not None:
        shown["updated_time"] = shown_time(found.updated_at)
    return shown
