"""Breakers of suspected mass losses as rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.observation import MassLossBreaker
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import drift_breaker as t

_FIELDS = tuple(field.name for field in fields(MassLossBreaker))
_COLUMNS = tuple(t.c[name] for name in _FIELDS)


def list_by_project(
    connection: Connection, project_id: str, implementations: Collection[str] | None = None
) -> list[MassLossBreaker]:
    """Return a project's breakers, of some types or of all, by type and region."""
    query = sa.select(*_COLUMNS).where(t.c.project_id == project_id)
    if implementations is not None:
        query = query.where(t.c.implementation.in_(sorted(implementations)))
    return read_each(
        connection.execute(query.order_by(t.c.implementation, t.c.region, t.c.id)), _from_row
    )


def store(connection: Connection, breakers: Sequence[MassLossBreaker]) -> None:
    """Store breakers whose groups are locked.

    A user may meanwhile have confirmed one that exists, and another read may have opened one of
    the same region, which stays the only one.
    """
    for each in breakers:
        numbers = {"lost": each.lost, "total": each.total}
        changed = connection.execute(t.update().where(t.c.id == each.id).values(**numbers))
        if not changed.rowcount and not _is_open(connection, each):
            connection.execute(t.insert(), {name: getattr(each, name) for name in _FIELDS})


def _is_open(connection: Connection, breaker: MassLossBreaker) -> bool:
    """Return whether there is a breaker of the same type and region."""
    query = sa.select(t.c.id).where(
        t.c.project_id == breaker.project_id,
        t.c.implementation == breaker.implementation,
        t.c.region == breaker.region,
    )
    return connection.scalar(query.limit(1)) is not None


def delete(connection: Connection, ids: Sequence[str]) -> None:
    """Delete breakers."""
    if ids:
        connection.execute(safe_delete(t).where(t.c.id.in_(sorted(ids))))


def delete_of_type(connection: Connection, project_id: str, implementation: str) -> None:
    """Delete the breakers of a type of which a project has no resource any more."""
    query = sa.select(t.c.id).where(
        t.c.project_id == project_id, t.c.implementation == implementation
    )
    delete(connection, list(connection.scalars(query)))


def confirm(connection: Connection, project_id: str, ids: Collection[str]) -> int:
    """Mark a project's breakers confirmed, all or none; return how many of the ids exist."""
    of_project = sa.and_(t.c.project_id == project_id, t.c.id.in_(sorted(ids)))
    found = list(connection.scalars(sa.select(t.c.id).where(of_project)))
    if len(found) == len(ids):
        connection.execute(t.update().where(of_project).values(confirmed=True))
    return len(found)


def _from_row(row: Any) -> MassLossBreaker:
    values = check_row(t.name, _FIELDS, row)
    return MassLossBreaker(**dict(zip(_FIELDS, values, strict=True)))
