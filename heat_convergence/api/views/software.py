"""Software configurations and deployments as clients read them.

Pure functions of rows.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow

Json = Any


def format_config_summary(config: SoftwareConfigRow, *, with_project: bool) -> dict[str, Json]:
    """Return a configuration as lists show it."""
    shown: dict[str, Json] = {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "creation_time": format_time(config.created_at),
    }
    return shown | ({"project": config.project_id} if with_project else {})


def format_config(config: SoftwareConfigRow) -> dict[str, Json]:
    """Return a configuration with its content."""
    return {**format_config_summary(config, with_project=False), **config.body}


def format_deployment(deployment: SoftwareDeploymentRow) -> dict[str, Json]:
    """Return a deployment."""
    shown: dict[str, Json] = {
        "id": deployment.id,
        "server_id": deployment.server_id,
        "config_id": deployment.config_id,
        "input_values": deployment.input_values or {},
        "output_values": deployment.output_values,
        "action": deployment.action,
        "status": deployment.status,
        "status_reason": deployment.status_reason,
        "creation_time": format_time(deployment.created_at),
    }
    if deployment.updated_at is not None:
        shown["updated_time"] = format_time(deployment.updated_at)
    return shown
