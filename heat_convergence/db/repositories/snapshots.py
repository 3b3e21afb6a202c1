"""Rows of users' snapshots in the database.

``GoalRepository.delete_except`` keeps the goals that snapshots name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Unpack

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.ports.snapshots import SnapshotColumns, SnapshotRepository
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.snapshot_rows import (
    COLUMNS,
    FIELDS,
    from_row,
    from_row_for_display,
)
from heat_convergence.db.tables import snapshot as snapshot_table


class SqlSnapshotRepository(SqlRepository, SnapshotRepository):
    """Snapshots on a database connection."""

    def insert(self, snapshot: Snapshot) -> None:
        """Insert a row; sensitive data are encrypted."""
        values = {name: getattr(snapshot, name) for name in FIELDS}
        if snapshot.sensitive and snapshot.data is not None:
            values["data"] = SensitiveValue(snapshot.data)
        self._connection.execute(snapshot_table.insert(), values)

    def get(self, stack_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot; None if the stack has none of that id."""
        statement = sa.select(*COLUMNS).where(
            snapshot_table.c.id == snapshot_id, snapshot_table.c.stack_id == stack_id
        )
        row = self._connection.execute(statement).first()
        return None if row is None else from_row(row)

    def list_by_stack(self, stack_id: str) -> list[Snapshot]:
        """Return the stack's snapshots, the newest first, to be shown."""
        statement = sa.select(*COLUMNS).where(snapshot_table.c.stack_id == stack_id)
        rows = self._connection.execute(statement.order_by(snapshot_table.c.id.desc()))
        return [from_row_for_display(row) for row in rows]

    def count(self, stack_id: str) -> int:
        """Return how many snapshots the stack has."""
        statement = sa.select(sa.func.count()).where(snapshot_table.c.stack_id == stack_id)
        return self._connection.scalar(statement) or 0

    def finish(self, stack_id: str, version: int, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns of the snapshot that this traversal takes."""
        self._connection.execute(
            snapshot_table.update()
            .where(snapshot_table.c.stack_id == stack_id, snapshot_table.c.version == version)
            .values(**_with_encryption(values))
        )

    def update(self, snapshot_id: str, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns; sensitive data are encrypted."""
        self._connection.execute(
            snapshot_table.update()
            .where(snapshot_table.c.id == snapshot_id)
            .values(**_with_encryption(values))
        )

    def delete(self, snapshot_id: str) -> None:
        """Delete the row."""
        self._connection.execute(snapshot_table.delete().where(snapshot_table.c.id == snapshot_id))

    def schedule_deletion(self, stack_ids: Collection[str], now: datetime) -> None:
        """Make all snapshots of the stacks DELETE IN_PROGRESS and due at ``now``."""
        if not stack_ids:
            return
        of_stacks = snapshot_table.update().where(snapshot_table.c.stack_id.in_(sorted(stack_ids)))
        self._connection.execute(
            force_index(of_stacks, snapshot_table, "ix_snapshot_stack_id").values(
                action=Action.DELETE, status=Status.IN_PROGRESS, delete_at=now, tries=0
            )
        )

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete all snapshots of the stack."""
        self._connection.execute(
            safe_delete(snapshot_table).where(snapshot_table.c.stack_id == stack_id)
        )


def _with_encryption(values: SnapshotColumns) -> Mapping[str, Any]:
    if values.get("sensitive") and values.get("data") is not None:
        return {**values, "data": SensitiveValue(values["data"])}
    return {**values}
