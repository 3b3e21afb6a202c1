"""What resource types need of the stored software configurations.

Reached through ``View.cloud.software_deployments``; ``cli`` has the one that is behind it.  Every
call is a transaction of its own and may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.protocol.resource_type import ResourceContext

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class SoftwareConfigStore(Protocol):
    def store_config(self, config: SoftwareConfigRow) -> None:
        """Stores it, unless there is one of that id already."""

    def find_config(self, project_id: str, config_id: str) -> SoftwareConfigRow | None:
        """The project's; another's is none."""

    def delete_config(self, project_id: str, config_id: str) -> None:
        """Deletes it.  Raises ``InvalidRestrictedAction`` while a deployment uses it."""

    def store_deployment(
        self, deployment: SoftwareDeploymentRow, config: SoftwareConfigRow
    ) -> None:
        """Stores both, unless that configuration is deployed already; what was deployed
        before under the same id is gone."""

    def find_deployment(self, project_id: str, deployment_id: str) -> SoftwareDeploymentRow | None:
        """The project's; another's is none."""

    def complete_deployment(
        self,
        deployment: SoftwareDeploymentRow,
        status: str,
        reason: str,
        outputs: Mapping[str, Any],
    ) -> SoftwareDeploymentRow:
        """The deployment with how it ended, which is stored."""

    def delete_deployment(self, project_id: str, deployment_id: str) -> None:
        """Deletes it and what it deployed."""


def require_config_store(view: ResourceContext) -> SoftwareConfigStore:
    """Raises ``ResourceFailure`` where the service was given no store of them."""
    found: SoftwareConfigStore | None = getattr(view.cloud, "software", None)
    if found is None:
        raise ResourceFailure("The service has no store of software configurations.")
    return found


def config_text(view: ResourceContext, given: str) -> str:
    """The text itself or, of the id of a configuration, what that holds."""
    if _ID.fullmatch(given) is None or getattr(view.cloud, "software", None) is None:
        return given
    found = require_config_store(view).find_config(view.project_id, given.lower())
    content: Any = None if found is None else found.body.get("config")
    return content if isinstance(content, str) else given
