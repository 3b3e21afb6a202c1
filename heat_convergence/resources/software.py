"""What resource types need of the stored software configurations.

Reached through ``View.cloud.software``; ``cli`` has the one that is behind it.  Every
call is a transaction of its own and may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.db.software import Config, Deployment
from heat_convergence.resources.plugin import View

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Software(Protocol):
    def keep(self, config: Config) -> None:
        """Stores it, unless there is one of that id already."""

    def find(self, project_id: str, config_id: str) -> Config | None:
        """The project's; another's is none."""

    def forget(self, project_id: str, config_id: str) -> None:
        """Deletes it.  Raises ``InvalidRestrictedAction`` while a deployment uses it."""


    def deploy(self, deployment: Deployment, config: Config) -> None:
        """Stores both, unless that configuration is deployed already; what was deployed
        before under the same id is gone."""

    def deployment(self, project_id: str, deployment_id: str) -> Deployment | None:
        """The project's; another's is none."""

    def ended(
        self, deployment: Deployment, status: str, reason: str, outputs: Mapping[str, Any]
    ) -> Deployment:
        """The deployment with how it ended, which is stored."""

    def undeploy(self, project_id: str, deployment_id: str) -> None:
        """Deletes it and what it deployed."""


def software_of(view: View) -> Software:
    """Raises ``ResourceFailure`` where the service was given no store of them."""
    found: Software | None = getattr(view.cloud, "software", None)
    if found is None:
        raise ResourceFailure("The service has no store of software configurations.")
    return found


def text_of(view: View, given: str) -> str:
    """The text itself or, of the id of a configuration, what that holds."""
    if _ID.fullmatch(given) is None or getattr(view.cloud, "software", None) is None:
        return given
    found = software_of(view).find(view.project_id, given.lower())
    content: Any = None if found is None else found.body.get("config")
    return content if isinstance(content, str) else given
