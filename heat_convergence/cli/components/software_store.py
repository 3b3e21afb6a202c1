"""Storage of software configs and deployments in the database.

Implements ``resources.protocol.software_config_store.SoftwareConfigStore``. Built by
``assembly``; every call is one transaction, retried where that helps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy.engine import Connection

from heat_convergence.common.errors import InvalidRestrictedAction
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.reference_scope import (
    Sender,
    find_config,
    find_deployment,
    list_server_configs,
    list_server_data,
)

T = TypeVar("T")
_DEPLOYMENT_FIELDS = (
    "server_id config_id action status status_reason stack_user_project_id input_values".split()
)


class DatabaseSoftwareStore:
    """Software configs and deployments in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store_config(self, config: SoftwareConfigRow) -> None:
        """Store a config; an existing one is not changed."""

        def work(conn: Connection) -> None:
            if software.get_config(conn, config.id) is None:
                software.insert_config(conn, config)

        self._write(work)

    def find_config(self, project_id: str, config_id: str) -> SoftwareConfigRow | None:
        """Return a config of the project, or None."""
        with self._database.read() as conn:
            return find_config(conn, project_id, config_id)

    def delete_config(self, project_id: str, config_id: str) -> None:
        """Delete a config of the project; a missing one is no error.

        Raises:
            InvalidRestrictedAction: A deployment uses it.
        """

        def work(conn: Connection) -> None:
            if find_config(conn, project_id, config_id) is None:
                return
            if software.is_config_in_use(conn, config_id):
                raise InvalidRestrictedAction(
                    f"The software config {config_id} is used by a deployment."
                )
            software.delete_config(conn, config_id)

        self._write(work)

    def store_deployment(
        self, deployment: SoftwareDeploymentRow, config: SoftwareConfigRow
    ) -> None:
        """Store a deployment with its config, or replace the config of an existing one."""

        def work(conn: Connection) -> None:
            before = find_deployment(conn, deployment.project_id, deployment.id)
            if before is not None and before.config_id == config.id:
                return
            if software.get_config(conn, config.id) is None:
                software.insert_config(conn, config)
            if before is None:
                software.insert_deployment(conn, deployment)
                return
            values = {name: getattr(deployment, name) for name in _DEPLOYMENT_FIELDS}
            values |= {"output_values": None, "updated_at": deployment.created_at}
            software.update_deployment(conn, deployment.id, values)
            _delete_unused_config(conn, before.config_id)

        self._write(work)

    def find_deployment(self, project_id: str, deployment_id: str) -> SoftwareDeploymentRow | None:
        """Return a deployment of the project, or None."""
        with self._database.read() as conn:
            return find_deployment(conn, project_id, deployment_id)

    def complete_deployment(
        self,
        deployment: SoftwareDeploymentRow,
        status: str,
        reason: str,
        outputs: Mapping[str, Any],
        now: datetime,
    ) -> SoftwareDeploymentRow:
        """Store the result of a deployment, and return the deployment with it."""
        values = {
            "status": status,
            "status_reason": reason,
            "output_values": dict(outputs),
            "updated_at": now,
        }
        self._write(lambda conn: software.update_deployment(conn, deployment.id, values))
        return replace(deployment, **values)  # type: ignore[arg-type]

    def delete_deployment(self, project_id: str, deployment_id: str) -> None:
        """Delete a deployment with its config; a missing one is no error."""

        def work(conn: Connection) -> None:
            found = find_deployment(conn, project_id, deployment_id)
            if found is not None:
                software.delete_deployment(conn, found.id)
                _delete_unused_config(conn, found.config_id)

        self._write(work)

    def list_server_configs(self, project_id: str, server_id: str) -> list[SoftwareConfigRow]:
        """Return the configs that the project has deployed to a server, by name."""
        with self._database.read() as conn:
            return list_server_configs(conn, Sender(project_id), server_id)

    def list_agent_data(self, project_id: str, server_id: str) -> list[Mapping[str, Any]]:
        """Return the data of the project's servers of that physical id."""
        with self._database.read() as conn:
            return list_server_data(conn, project_id, server_id)

    def _write(self, work: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with self._database.write() as conn:
                return work(conn)

        return retry_transaction(attempt, wait=time.sleep)


def _delete_unused_config(conn: Connection, config_id: str) -> None:
    """Delete a config unless another deployment uses it."""
    if not software.is_config_in_use(conn, config_id):
        software.delete_config(conn, config_id)
