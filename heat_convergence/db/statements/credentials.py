"""Statements about the credentials with which the service acts for stacks.

Called by ``cli`` and by the API, each in a transaction of its own: a credential is
stored before its stack and remains after it until it is revoked.  Always encrypted.
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
from heat_convergence.db.tables import quarantine, snapshot, stack, stack_credential

t = stack_credential
_COLUMNS = (t.c.stack_id, t.c.body)


def get(connection: Connection, stack_id: str) -> Mapping[str, Any] | None:
    """Return the credential of the tree of that root, as ``Credential.dump`` made it."""
    found = connection.execute(sa.select(*_COLUMNS).where(t.c.stack_id == stack_id)).first()
    return None if found is None else _read(found)[1]


def upsert(connection: Connection, stack_id: str, body: Mapping[str, Any], now: datetime) -> None:
    """Store the credential of a tree, replacing an earlier one."""
    values = {"body": SensitiveValue(body), "created_at": now}
    found = connection.execute(t.update().where(t.c.stack_id == stack_id).values(**values))
    if found.rowcount == 0:
        connection.execute(t.insert().values(stack_id=stack_id, **values))


def delete(connection: Connection, stack_id: str) -> None:
    """Delete the credential of the tree of that root."""
    connection.execute(t.delete().where(t.c.stack_id == stack_id))


@dataclass(frozen=True, slots=True)
class DelegatingStack:
    """A stack for whose user the service acts."""

    id: str
    name: str
    project_id: str


def list_delegating(connection: Connection, after: str, limit: int) -> list[DelegatingStack]:
    """Return stacks that are not deleted and have a credential, in the order of their ids.

    Args:
        connection: the transaction's.
        after: the id after which they begin.
        limit: the largest number.
    """
    statement = (
        sa.select(stack.c.id, stack.c.name, stack.c.project_id)
        .join(t, t.c.stack_id == stack.c.id)
        .where(stack.c.deleted_at.is_(None), stack.c.id > after)
        .order_by(stack.c.id)
        .limit(limit)
    )
    return [DelegatingStack(*row) for row in connection.execute(statement)]


def list_orphaned(
    connection: Connection, before: datetime, limit: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (stack id, credential) of trees that no longer need it.

    Args:
        connection: the transaction's.
        before: the time before which a credential was stored whose stack never was; the
            others belong to stacks that are deleted together with their snapshots.
        limit: the largest number.
    """
    saved = sa.exists().where(snapshot.c.stack_id == stack.c.id, snapshot.c.delete_at.is_not(None))
    quarantined = sa.exists().where(quarantine.c.root_id == stack.c.id)
    used = sa.or_(saved, quarantined)
    never = sa.and_(stack.c.id.is_(None), t.c.created_at < before)
    statement = (
        sa.select(*_COLUMNS)
        .outerjoin(stack, stack.c.id == t.c.stack_id)
        .where(sa.or_(sa.and_(stack.c.deleted_at.is_not(None), ~used), never))
        .order_by(t.c.stack_id)
        .limit(limit)
    )
    return read_each(connection.execute(statement), _read)


def _read(row: Any) -> tuple[str, Mapping[str, Any]]:
    """Return (stack id, credential)."""
    stack_id, body = check_row(t.name, ("stack_id", "body"), row)
    require_readable(body)
    return stack_id, body
