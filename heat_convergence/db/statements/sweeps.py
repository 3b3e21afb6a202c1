"""Statements about jobs whose time has come, or that nobody holds any more.

Called by ``db.store``, each as a transaction of its own.  Candidates are read without
locks; those that are still so, and that nobody holds, are locked by key.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements.job_queue import POSTED_OR_RUNNING
from heat_convergence.db.statements.resources import FOR_NO_KEY_UPDATE_SKIP_LOCKED, get, update
from heat_convergence.db.tables import resource


def take_lost_jobs(
    connection: Connection, now: datetime, posted_before: datetime, limit: int
) -> list[Any]:
    lost = sa.and_(
        resource.c.job_state.in_(POSTED_OR_RUNNING),
        resource.c.posted_at < posted_before,
        resource.c.observe_at.is_(None),
        sa.or_(resource.c.lease_expires_at.is_(None), resource.c.lease_expires_at < now),
    )
    rows = _still(connection, _oldest(connection, lost, resource.c.posted_at, limit), lost)
    update(connection, [row.id for row in rows], job_state=JobState.POSTED, posted_at=now)
    return rows


def take_due_observations(
    connection: Connection, now: datetime, until: datetime, limit: int
) -> list[Resource]:
    due = resource.c.observe_at <= now
    rows = _still(connection, _oldest(connection, due, resource.c.observe_at, limit), due)
    ids = [row.id for row in rows]
    update(connection, ids, observe_at=until)
    return get(connection, ids)


def get_next_observation_time(connection: Connection) -> datetime | None:
    return connection.scalar(sa.select(sa.func.min(resource.c.observe_at)))


def renew_leases(
    connection: Connection, owner: str, tokens: Collection[str], until: datetime
) -> int:
    mine = sa.and_(resource.c.lease_owner == owner, resource.c.lease_token.in_(tokens))
    held = list(connection.scalars(sa.select(resource.c.id).where(mine)))
    ids = [row.id for row in _still(connection, held, mine)]
    update(connection, ids, lease_expires_at=until)
    return len(ids)


def _oldest(connection: Connection, condition: Any, by: sa.Column[Any], limit: int) -> list[str]:
    statement = sa.select(resource.c.id).where(condition).order_by(by).limit(limit)
    return list(connection.scalars(statement))


def _still(connection: Connection, ids: Collection[str], condition: Any) -> list[Any]:
    if not ids:
        return []
    statement = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.version)
        .where(resource.c.id.in_(sorted(ids)), condition)
        .order_by(resource.c.id)
    )
    return list(
        connection.execute(
            force_index(statement, resource).with_for_update(**FOR_NO_KEY_UPDATE_SKIP_LOCKED)
        )
    )
