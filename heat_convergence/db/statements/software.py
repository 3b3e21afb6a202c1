"""Statements about software configurations and deployments.

Called by the API, and through ``cli`` by the resource types of software, inside their
own transactions.  Users' contents are always encrypted: scripts and their inputs hold
passwords.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import require_readable
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import resource as resources
from heat_convergence.db.tables import software_config as configs
from heat_convergence.db.tables import software_deployment as deployments

Json = Any
_ENCRYPTED = ("input_values", "output_values")


@dataclass(frozen=True, slots=True)
class SoftwareConfigRow:
    """A software configuration, which never changes.

    ``body`` holds its config, inputs, outputs and options.
    """

    id: str
    project_id: str
    name: str
    group: str
    body: Mapping[str, Json]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SoftwareDeploymentRow:
    """A configuration deployed to a server.

    ``stack_user_project_id`` is the project of the user with whose token the server polls.
    """

    id: str
    project_id: str
    server_id: str
    config_id: str
    action: str
    status: str
    status_reason: str
    created_at: datetime
    stack_user_project_id: str | None = None
    input_values: Mapping[str, Json] | None = None
    output_values: Mapping[str, Json] | None = None
    updated_at: datetime | None = None


# A resource whose action has ended waits for no server: RULE 1, nothing else has to be written.
_CANCELLED = sa.and_(
    deployments.c.status == "IN_PROGRESS",
    sa.exists().where(resources.c.id == deployments.c.id, resources.c.status == "FAILED"),
)
_SHOWN_WHEN_CANCELLED = {"status": "FAILED", "status_reason": "Deployment cancelled."}
_CONFIG_COLUMNS = tuple(configs.c[name].label(name) for name in SoftwareConfigRow.__slots__)


def _deployment_column(name: str) -> sa.ColumnElement[Any]:
    column = deployments.c[name]
    if name not in _SHOWN_WHEN_CANCELLED:
        return column.label(name)
    return sa.case((_CANCELLED, _SHOWN_WHEN_CANCELLED[name]), else_=column).label(name)


_DEPLOYMENT_COLUMNS = tuple(map(_deployment_column, SoftwareDeploymentRow.__slots__))


# -- configurations


def insert_config(conn: Connection, new: SoftwareConfigRow) -> None:
    """Insert a configuration, its body encrypted."""
    values = {name: getattr(new, name) for name in SoftwareConfigRow.__slots__}
    conn.execute(configs.insert().values(**values | {"body": SensitiveValue(new.body)}))


def get_config(conn: Connection, config_id: str) -> SoftwareConfigRow | None:
    """Return a configuration with its body; None if there is none."""
    row = conn.execute(sa.select(*_CONFIG_COLUMNS).where(configs.c.id == config_id)).first()
    return None if row is None else _config_from_row(row)


def list_configs(
    conn: Connection, project_id: str | None, limit: int | None, marker: str | None
) -> list[SoftwareConfigRow]:
    """Return configurations without their bodies, the newest first.

    Args:
        conn: the transaction's connection.
        project_id: whose; None for those of all projects.
        limit: the size of the page; None for all of them.
        marker: the last id of the page before; an unknown one means the first page.
    """
    columns = [column for column in _CONFIG_COLUMNS if column.name != "body"]
    query = sa.select(*columns).order_by(configs.c.created_at.desc(), configs.c.id.desc())
    if project_id is not None:
        query = query.where(configs.c.project_id == project_id)
    marked = None if marker is None else get_config(conn, marker)
    if marked is not None and project_id in (None, marked.project_id):
        earlier = configs.c.created_at < marked.created_at
        same = sa.and_(configs.c.created_at == marked.created_at, configs.c.id < marked.id)
        query = query.where(sa.or_(earlier, same))
    rows = conn.execute(query if limit is None else query.limit(limit))
    return read_each(rows, _config_from_row)


def count_configs(conn: Connection, project_id: str) -> int:
    """Return how many configurations the project has."""
    query = sa.select(sa.func.count()).where(configs.c.project_id == project_id)
    return int(conn.execute(query).scalar_one())


def is_config_in_use(conn: Connection, config_id: str) -> bool:
    """Return whether a deployment uses the configuration."""
    query = sa.select(deployments.c.id).where(deployments.c.config_id == config_id).limit(1)
    return conn.execute(query).first() is not None


def delete_config(conn: Connection, config_id: str) -> None:
    """Delete a configuration that no deployment uses."""
    conn.execute(configs.delete().where(configs.c.id == config_id))


# -- deployments


def insert_deployment(conn: Connection, new: SoftwareDeploymentRow) -> None:
    """Insert a deployment, its values encrypted."""
    values = {name: getattr(new, name) for name in SoftwareDeploymentRow.__slots__}
    conn.execute(deployments.insert().values(**_with_encryption(values)))


def get_deployment(conn: Connection, deployment_id: str) -> SoftwareDeploymentRow | None:
    """Return a deployment; None if there is none."""
    query = sa.select(*_DEPLOYMENT_COLUMNS).where(deployments.c.id == deployment_id)
    row = conn.execute(query).first()
    return None if row is None else _deployment_from_row(row)


def is_stack_user_project(conn: Connection, project_id: str, user_project_id: str) -> bool:
    """Return whether users of ``user_project_id`` carry out deployments of the project."""
    query = sa.select(deployments.c.id).where(
        deployments.c.project_id == project_id,
        deployments.c.stack_user_project_id == user_project_id,
    )
    return conn.execute(query.limit(1)).first() is not None


def list_deployments(
    conn: Connection, project_id: str, server_id: str | None = None
) -> list[SoftwareDeploymentRow]:
    """Return deployments that the project, or users in it, may see, the oldest first.

    Those that cannot be decoded are left out.
    """
    query = sa.select(*_DEPLOYMENT_COLUMNS).where(_visible(project_id)).order_by(deployments.c.id)
    if server_id is not None:
        query = query.where(deployments.c.server_id == server_id)
    return read_each(conn.execute(query), _whole_deployment)


def list_server_configs(
    conn: Connection, project_id: str, server_id: str
) -> list[SoftwareConfigRow]:
    """Return the readable configurations deployed to a server, by name and then by time."""
    query = (
        sa.select(*_CONFIG_COLUMNS)
        .join(deployments, deployments.c.config_id == configs.c.id)
        .where(
            _visible(project_id),
            deployments.c.server_id == server_id,
            configs.c.project_id == deployments.c.project_id,
        )
        .order_by(configs.c.name, deployments.c.created_at, deployments.c.id)
    )
    return read_each(conn.execute(query), _whole_config)


def count_deployments(conn: Connection, project_id: str) -> int:
    """Return how many deployments the project has."""
    query = sa.select(sa.func.count()).where(deployments.c.project_id == project_id)
    return int(conn.execute(query).scalar_one())


def update_deployment(conn: Connection, deployment_id: str, values: Mapping[str, Any]) -> None:
    """Set columns of a deployment, its values encrypted."""
    changed = _with_encryption(values)
    conn.execute(deployments.update().where(deployments.c.id == deployment_id).values(**changed))


def delete_deployment(conn: Connection, deployment_id: str) -> None:
    """Delete a deployment."""
    conn.execute(deployments.delete().where(deployments.c.id == deployment_id))


def _visible(project_id: str) -> sa.ColumnElement[bool]:
    own = deployments.c.project_id == project_id
    return sa.or_(own, deployments.c.stack_user_project_id == project_id)


def _with_encryption(values: Mapping[str, Any]) -> dict[str, Any]:
    encrypted = {
        name: SensitiveValue(values[name]) for name in _ENCRYPTED if values.get(name) is not None
    }
    return {**values, **encrypted}


def _config_from_row(row: Any) -> SoftwareConfigRow:
    checked = check_row(configs.name, row._fields, row)
    return SoftwareConfigRow(**{"body": {}, **dict(zip(row._fields, checked, strict=True))})


def _deployment_from_row(row: Any) -> SoftwareDeploymentRow:
    checked = check_row(deployments.name, row._fields, row)
    return SoftwareDeploymentRow(**dict(zip(row._fields, checked, strict=True)))


def _whole_config(row: Any) -> SoftwareConfigRow:
    found = _config_from_row(row)
    require_readable(found.body)
    return found


def _whole_deployment(row: Any) -> SoftwareDeploymentRow:
    found = _deployment_from_row(row)
    require_readable(found.input_values, found.output_values)
    return found
