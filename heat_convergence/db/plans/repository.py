"""Rows of stored plans in the database."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.plans.repository import PlanRepository
from heat_convergence.convergence.plans.stored_plan import StoredPlan
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import stack_plan as t

_FIELDS = tuple(field.name for field in fields(StoredPlan))
_COLUMNS = tuple(t.c[name] for name in _FIELDS)
_ENCRYPTED = ("summary", "document", "request", "state")
_LISTED = tuple(name for name in _FIELDS if name not in _ENCRYPTED[1:])


class SqlPlanRepository(SqlRepository, PlanRepository):
    """Stored plans on a database connection."""

    def insert(self, plan: StoredPlan) -> None:
        """Insert a row."""
        values: dict[str, Any] = {name: getattr(plan, name) for name in _FIELDS}
        values |= {name: SensitiveValue(values[name]) for name in _ENCRYPTED}
        self._connection.execute(t.insert(), values)

    def get(self, plan_id: str) -> StoredPlan | None:
        """Return the plan with everything that is stored of it; None if there is none."""
        row = self._connection.execute(sa.select(*_COLUMNS).where(t.c.id == plan_id)).first()
        return None if row is None else _from_row(_FIELDS, row)

    def count_ready(self, project_id: str, now: datetime) -> int:
        """Return how many plans of the project can still be executed."""
        ready = sa.and_(t.c.executed_at.is_(None), t.c.expires_at > now)
        query = sa.select(sa.func.count()).where(t.c.project_id == project_id, ready)
        return self._connection.scalar(query) or 0

    def mark_executed(self, plan_id: str, now: datetime) -> bool:
        """Mark the plan executed; return False if it is so already, expired or deleted."""
        ready = sa.and_(t.c.executed_at.is_(None), t.c.expires_at > now)
        statement = t.update().where(t.c.id == plan_id, ready).values(executed_at=now)
        return self._connection.execute(statement).rowcount == 1

    def delete(self, plan_id: str) -> bool:
        """Delete the plan; return whether it existed."""
        return self._connection.execute(t.delete().where(t.c.id == plan_id)).rowcount == 1


def list_headers(
    conn: Connection, project_id: str, stack_id: str | None = None
) -> list[StoredPlan]:
    """Return plans without documents, requests and states, the newest first.

    Args:
        conn: a connection to read from.
        project_id: their project.
        stack_id: their stack; None for those of all stacks of the project.
    """
    query = sa.select(*(t.c[name] for name in _LISTED)).where(t.c.project_id == project_id)
    if stack_id is not None:
        query = query.where(t.c.stack_id == stack_id)
    rows = conn.execute(query.order_by(t.c.id.desc()))
    return read_each(rows, lambda row: _from_row(_LISTED, row))


def _from_row(names: tuple[str, ...], row: Any) -> StoredPlan:
    return StoredPlan(**dict(zip(names, check_row("plan", names, row), strict=True)))
