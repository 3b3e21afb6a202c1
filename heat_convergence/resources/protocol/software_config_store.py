"""The store of software configurations that resource types use.

Reached through ``ResourceContext.cloud.software``; ``cli`` provides the implementation. Every
call is a transaction of its own and may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.protocol.verb_values import ResourceContext

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class SoftwareConfigStore(Protocol):
    """Stored software configurations and deployments, by project."""

    def store_config(self, config: SoftwareConfigRow) -> None:
        """Store a configuration, unless there is one with its id."""

    def find_config(self, project_id: str, config_id: str) -> SoftwareConfigRow | None:
        """Return a configuration of this project, or None."""

    def delete_config(self, project_id: str, config_id: str) -> None:
        """Delete a configuration of this project, if there is one.

        Raises:
            InvalidRestrictedAction: A deployment uses it.
        """

    def store_deployment(
        self, deployment: SoftwareDeploymentRow, config: SoftwareConfigRow
    ) -> None:
        """Store a deployment and its configuration, replacing an earlier deployment of its id.

        Nothing changes when that configuration is deployed already.
        """

    def find_deployment(self, project_id: str, deployment_id: str) -> SoftwareDeploymentRow | None:
        """Return a deployment of this project, or None."""

    def complete_deployment(
        self,
        deployment: SoftwareDeploymentRow,
        status: str,
        reason: str,
        outputs: Mapping[str, Any],
        now: datetime,
    ) -> SoftwareDeploymentRow:
        """Store the status and outputs that end a deployment, and return it with them."""

    def delete_deployment(self, project_id: str, deployment_id: str) -> None:
        """Delete a deployment of this project and its derived configuration."""

    def list_server_configs(self, project_id: str, server_id: str) -> list[SoftwareConfigRow]:
        """Return the configurations that the project has deployed to a server, by name."""

    def list_agent_data(self, project_id: str, server_id: str) -> list[Mapping[str, Any]]:
        """Return the data of the project's servers of that physical id."""


def format_config(config: SoftwareConfigRow) -> dict[str, Any]:
    """Return a configuration as clients and agents read it, with its content."""
    return {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "creation_time": config.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **config.body,
    }


def require_config_store(context: ResourceContext) -> SoftwareConfigStore:
    """Return the store of the context's cloud.

    Raises:
        ResourceFailure: The service has no store of software configurations.
    """
    found: SoftwareConfigStore | None = getattr(context.cloud, "software", None)
    if found is None:
        raise ResourceFailure("The service has no store of software configurations.")
    return found


def config_text(context: ResourceContext, text_or_id: str) -> str:
    """Return the text itself or, for the id of a stored configuration, its text."""
    if _ID.fullmatch(text_or_id) is None or getattr(context.cloud, "software", None) is None:
        return text_or_id
    found = require_config_store(context).find_config(context.project_id, text_or_id.lower())
    content: Any = None if found is None else found.body.get("config")
    return content if isinstance(content, str) else text_or_id
