"""Software configurations in the database: ``resources.software_deployments.SoftwareConfigStore``.

Built by ``wiring``; every call is one transaction, tried again where that helps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy.engine import Connection

from heat_convergence.common.errors import InvalidRestrictedAction
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow

T = TypeVar("T")


_DEPLOYED = (
    "server_id config_id action status status_reason stack_user_project_id input_values".split()
)


class DatabaseSoftwareStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def store_config(self, config: SoftwareConfigRow) -> None:
        def work(conn: Connection) -> None:
            if software.get_config(conn, config.id) is None:
                software.insert_config(conn, config)

        self._write(work)

    def find_config(self, project_id: str, config_id: str) -> SoftwareConfigRow | None:
        with self._database.read() as conn:
            found = software.get_config(conn, config_id)
        return found if found is not None and found.project_id == project_id else None

    def delete_config(self, project_id: str, config_id: str) -> None:
        def work(conn: Connection) -> None:
            found = software.get_config(conn, config_id)
            if found is None or found.project_id != project_id:
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
        def work(conn: Connection) -> None:
            before = _own(conn, deployment.project_id, deployment.id)
            if before is not None and before.config_id == config.id:
                return
            if software.get_config(conn, config.id) is None:
                software.insert_config(conn, config)
            if before is None:
                software.insert_deployment(conn, deployment)
                return
            values = {name: getattr(deployment, name) for name in _DEPLOYED}
            values |= {"output_values": None, "updated_at": deployment.created_at}
            software.update_deployment(conn, deployment.id, values)
            _drop(conn, before.config_id)

        self._write(work)

    def find_deployment(self, project_id: str, deployment_id: str) -> SoftwareDeploymentRow | None:
        with self._database.read() as conn:
            return _own(conn, project_id, deployment_id)

    def complete_deployment(
        self,
        deployment: SoftwareDeploymentRow,
        status: str,
        reason: str,
        outputs: Mapping[str, Any],
    ) -> SoftwareDeploymentRow:
        values = {"status": status, "status_reason": reason, "output_values": dict(outputs)}
        self._write(lambda conn: software.update_deployment(conn, deployment.id, values))
        return replace(deployment, **values)  # type: ignore[arg-type]

    def delete_deployment(self, project_id: str, deployment_id: str) -> None:
        def work(conn: Connection) -> None:
            found = _own(conn, project_id, deployment_id)
            if found is not None:
                software.delete_deployment(conn, found.id)
                _drop(conn, found.config_id)

        self._write(work)

    def _write(self, work: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with self._database.write() as conn:
                return work(conn)

        return retry_transaction(attempt, wait=time.sleep)


def _own(conn: Connection, project_id: str, deployment_id: str) -> SoftwareDeploymentRow | None:
    found = software.get_deployment(conn, deployment_id)
    return found if found is not None and found.project_id == project_id else None


def _drop(conn: Connection, config_id: str) -> None:
    """What was deployed, unless somebody deploys it elsewhere."""
    if not software.is_config_in_use(conn, config_id):
        software.delete_config(conn, config_id)
