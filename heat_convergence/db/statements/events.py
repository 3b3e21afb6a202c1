"""Statements that find and delete the oldest events."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.tables import event


def find_stacks_over_limit(
    connection: Connection, max_events: int, limit: int, since_id: str = ""
) -> list[str]:
    """Return ids of up to ``limit`` stacks with more than ``max_events`` events.

    Args:
        connection: The connection that reads.
        max_events: How many events a stack may have.
        limit: The largest number of stacks.
        since_id: Only stacks are counted that have an event whose id follows this one.
    """
    number = sa.func.count(event.c.id)
    recent = event.alias("recent")
    has_events = event.c.stack_id.in_(sa.select(recent.c.stack_id).where(recent.c.id > since_id))
    query = sa.select(event.c.stack_id).where(has_events).group_by(event.c.stack_id)
    query = query.having(number > max_events).order_by(event.c.stack_id)
    return list(connection.scalars(query.limit(limit)))


def delete_oldest(connection: Connection, stack_id: str, keep: int, batch: int) -> int:
    """Delete up to ``batch`` of the stack's events older than its newest ``keep``.

    Returns:
        How many were deleted.
    """
    mine = sa.select(event.c.id).where(event.c.stack_id == stack_id)
    last = connection.execute(mine.order_by(event.c.id.desc()).offset(keep).limit(1)).scalar()
    if last is None:
        return 0
    oldest = mine.where(event.c.id <= last).order_by(event.c.id).limit(batch)
    ids = list(connection.scalars(oldest))
    connection.execute(safe_delete(event).where(event.c.id.in_(ids)))
    return len(ids)
