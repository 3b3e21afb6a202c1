"""Statements about events, inside a transaction of ``db.store``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
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


def over_limit(connection: Connection, most: int, limit: int) -> list[str]:
    """Ids of up to ``limit`` stacks with more than ``most`` events."""
    number = sa.func.count(event.c.id)
    query = sa.select(event.c.stack_id).group_by(event.c.stack_id).having(number > most)
    return list(connection.scalars(query.order_by(event.c.stack_id).limit(limit)))


def purge(connection: Connection, stack_id: str, keep: int, batch: int) -> int:
    """Deletes up to ``batch`` of the stack's events older than its newest ``keep``; how
    many."""
    mine = sa.select(event.c.id).where(event.c.stack_id == stack_id)
    last = connection.execute(
        mine.order_by(event.c.id.desc()).offset(keep).limit(1)
    ).scalar()
    if last is None:
        return 0
    oldest = mine.where(event.c.id <= last).order_by(event.c.id).limit(batch)
    ids = list(connection.scalars(oldest))
    connection.execute(event.delete().where(event.c.id.in_(ids)))
    return len(ids)


def _columns(row: Event) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in _FIELDS}
    if row.sensitive and row.properties is not None:
        columns["properties"] = Sealed(row.properties)
    return columns
