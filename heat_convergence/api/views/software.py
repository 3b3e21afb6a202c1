"""Software configurations and deployments as clients read them.

Pure functions of rows.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow

Json = Any


def format_config_summary(config: SoftwareConfigRow, *, with_project: bool) -> dict[str, Json]:
    """As lists have it."""
    shown: dict[str, Json] = {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "creation_time": format_time(config.created_at),
    }
    return shown | ({"project": config.project_id} if with_project else {})


def format_config(found: SoftwareConfigRow) -> dict[str, Json]:
    return {**format_config_summary(found, with_project=False), **found.body}


def format_deployment(found: SoftwareDeploymentRow) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": found.id,
        "server_id": found.server_id,
        "config_id": found.config_id,
        "input_values": found.input_values or {},
        "output_values": found.output_values,
        "action": found.action,
        "status": found.status,
        "status_reason": found.status_reason,
        "creation_time": format_time(found.created_at),
    }
    if found.updated_at is not None:
        shown["updated_time"] = format_time(found.updated_at)
    return shown
