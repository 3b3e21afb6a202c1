"""Software configurations and deployments as clients read them.

Pure functions of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.template.text_redaction import mask_values

Json = Any
_VALUE_KEYS = ("value", "default")


def format_config_summary(config: SoftwareConfigRow, *, with_project: bool) -> dict[str, Json]:
    """Return a configuration as lists show it."""
    shown: dict[str, Json] = {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "creation_time": format_time(config.created_at),
    }
    return shown | ({"project": config.project_id} if with_project else {})


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


def mask_config(shown: Mapping[str, Json]) -> dict[str, Json]:
    """Return a configuration without the values of its inputs, which hold passwords.

    Values are also in the content of a structured configuration, in the place of its inputs.
    """
    content = shown["config"]
    return {
        **shown,
        "config": content if isinstance(content, str) else mask_values(content),
        "inputs": [
            {key: mask_values(item) if key in _VALUE_KEYS else item for key, item in each.items()}
            for each in shown["inputs"]
        ],
    }


def mask_deployment(shown: Mapping[str, Json]) -> dict[str, Json]:
    """Return a deployment without the values of its inputs."""
    return {**shown, "input_values": mask_values(shown["input_values"])}
