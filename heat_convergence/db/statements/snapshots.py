"""Statements about users' snapshots of stacks.

Called by ``db.store`` inside its transaction and by the API to read.  The goals
that snapshots name are kept by ``db.goals``.  Data with secrets arrive ``SensitiveValue``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.tables import snapshot

_FIELDS = Snapshot.__slots__
_COLUMNS = tuple(snapshot.c[name] for name in _FIELDS)


def insert(connection: Connection, new: Snapshot) -> None:
    connection.execute(snapshot.insert(), {name: getattr(new, name) for name in _FIELDS})


def get(connection: Connection, stack_id: str, snapshot_id: str) -> Snapshot | None:
    statement = sa.select(*_COLUMNS).where(
        snapshot.c.id == snapshot_id, snapshot.c.stack_id == stack_id
    )
    row = connection.execute(statement).first()
    return None if row is None else _from_row(row)


def get_by_stack(connection: Connection, stack_id: str) -> list[Snapshot]:
    """The newest first."""
    statement = sa.select(*_COLUMNS).where(snapshot.c.stack_id == stack_id)
    rows = connection.execute(statement.order_by(snapshot.c.id.desc()))
    return [_from_row(row) for row in rows]


def count(connection: Connection, stack_id: str) -> int:
    statement = sa.select(sa.func.count()).where(snapshot.c.stack_id == stack_id)
    return connection.scalar(statement) or 0


def update_by_traversal(
    connection: Connection, stack_id: str, version: int, **values: Any
) -> None:
    connection.execute(
        snapshot.update()
        .where(snapshot.c.stack_id == stack_id, snapshot.c.version == version)
        .values(**_sealed(values))
    )


def update(connection: Connection, snapshot_id: str, **values: Any) -> None:
    connection.execute(
        snapshot.update().where(snapshot.c.id == snapshot_id).values(**_sealed(values))
    )


def _sealed(values: dict[str, Any]) -> dict[str, Any]:
    if values.get("sensitive") and values.get("data") is not None:
        return {**values, "data": SensitiveValue(values["data"])}
    return values


def delete(connection: Connection, snapshot_id: str) -> None:
    connection.execute(snapshot.delete().where(snapshot.c.id == snapshot_id))


def schedule_deletion(connection: Connection, stack_id: str, now: datetime) -> None:
    connection.execute(
        snapshot.update()
        .where(snapshot.c.stack_id == stack_id)
        .values(action=Action.DELETE, status=Status.IN_PROGRESS, delete_at=now, tries=0)
    )


def claim_due_deletions(
    connection: Connection, now: datetime, until: datetime, limit: int
) -> list[Snapshot]:
    due = snapshot.c.delete_at <= now
    candidates = sa.select(snapshot.c.id).where(due).order_by(snapshot.c.delete_at).limit(limit)
    ids = sorted(connection.scalars(candidates))
    if not ids:
        return []
    selected = sa.select(*_COLUMNS).where(snapshot.c.id.in_(ids), due).order_by(snapshot.c.id)
    rows = connection.execute(force_index(selected, snapshot).with_for_update(skip_locked=True))
    found = [_from_row(row) for row in rows]
    held = [saved.id for saved in found]
    postponed = force_index(snapshot.update().where(snapshot.c.id.in_(held)), snapshot)
    connection.execute(postponed.values(delete_at=until))
    return found


def delete_by_stack(connection: Connection, stack_id: str) -> None:
    connection.execute(safe_delete(snapshot).where(snapshot.c.stack_id == stack_id))


def _from_row(row: Any) -> Snapshot:
    return Snapshot(**dict(zip(_FIELDS, row, strict=True)))
