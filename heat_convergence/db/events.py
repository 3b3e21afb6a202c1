"""Statements about events, inside a transaction of ``db.store``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import Event
from heat_convergence.db.sealing import Sealed
from heat_convergence.db.tables import event

_FIELDS = Event.__slots__


def insert(connection: Connection, new: Sequence[Event]) -> None:
    if new:
        connection.execute(
            event.insert(), [_columns(row) for row in new]
        )


def _columns(row: Event) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in _FIELDS}
    if row.sensitive and row.properties is not None:
        columns["properties"] = Sealed(row.properties)
    return columns
