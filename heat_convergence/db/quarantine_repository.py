"""Rows of the quarantine in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Unpack

import sqlalchemy as sa

from heat_convergence.convergence.quarantine.entry import QuarantineEntry
from heat_convergence.convergence.quarantine.repository import (
    QuarantineColumns,
    QuarantineRepository,
)
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.sweep_candidates import is_due_for_retry
from heat_convergence.db.tables import quarantine as t

_FIELDS = tuple(field.name for field in fields(QuarantineEntry))
_COLUMNS = tuple(t.c[name] for name in _FIELDS)
_DUE = (
    sa.select(*_COLUMNS)
    .where(is_due_for_retry(sa.bindparam("now", type_=t.c.next_at.type)))
    .order_by(t.c.next_at, t.c.resource_id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)


class SqlQuarantineRepository(SqlRepository, QuarantineRepository):
    """Quarantined resources on a database connection."""

    def add(self, entries: Sequence[QuarantineEntry]) -> None:
        """Insert entries; those that exist already stay as they are."""
        known = {each.resource_id for each in self.get([each.resource_id for each in entries])}
        new = [each for each in entries if each.resource_id not in known]
        if new:
            rows = [{name: getattr(each, name) for name in _FIELDS} for each in new]
            self._connection.execute(t.insert(), rows)

    def get(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Return those of the entries that exist, by id."""
        return self._select(t.c.resource_id.in_(sorted(ids))) if ids else []

    def lock(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Lock those of the entries that exist and return them, by id."""
        return self._select(t.c.resource_id.in_(sorted(ids)), locks=True) if ids else []

    def list_by_project(
        self, project_id: str, limit: int | None = None, marker: str | None = None
    ) -> list[QuarantineEntry]:
        """Return a project's entries, by id, those after the marker."""
        after = t.c.resource_id > (marker or "")
        return self._select(sa.and_(t.c.project_id == project_id, after), limit)

    def list_ids(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the stack's entries."""
        query = sa.select(t.c.resource_id).where(t.c.stack_id == stack_id)
        return frozenset(self._connection.scalars(query))

    def list_ids_of_tree(self, root_id: str) -> frozenset[str]:
        """Return the ids of the entries of a tree of stacks."""
        query = sa.select(t.c.resource_id).where(t.c.root_id == root_id)
        return frozenset(self._connection.scalars(query))

    def find_blockers(self, root_ids: Collection[str], ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are entries of the trees, or stacks that have some."""
        if not ids:
            return frozenset()
        sought = sorted(ids)
        query = sa.select(t.c.resource_id, t.c.stack_id).where(
            t.c.root_id.in_(sorted(root_ids)),
            sa.or_(t.c.resource_id.in_(sought), t.c.stack_id.in_(sought)),
        )
        found = {each for row in self._connection.execute(query) for each in row}
        return frozenset(found.intersection(ids))

    def take_due(self, now: datetime, until: datetime, limit: int) -> list[QuarantineEntry]:
        """Take entries whose ``next_at`` has come, and that nobody has taken; return them."""
        rows = self._connection.execute(_DUE, {"now": now, "limit": limit})
        found = read_each(rows, _from_row)
        self.update([each.resource_id for each in found], taken_until=until)
        return found

    def activate(self, stack_id: str, next_at: datetime) -> None:
        """Have the deletions of a deleted stack's entries tried again from a time on."""
        self._connection.execute(
            t.update().where(t.c.stack_id == stack_id).values(next_at=next_at)
        )

    def wake(self, root_id: str, now: datetime) -> None:
        """Make the entries of a tree due that wait for others and were never tried."""
        waiting = sa.and_(t.c.root_id == root_id, t.c.tries == 0, t.c.next_at.is_not(None))
        self._connection.execute(t.update().where(waiting).values(next_at=now))

    def update(self, ids: Collection[str], **values: Unpack[QuarantineColumns]) -> None:
        """Set the same values in all of the entries."""
        if ids:
            of_ids = t.update().where(t.c.resource_id.in_(sorted(ids)))
            self._connection.execute(of_ids.values(**values))

    def delete(self, ids: Collection[str]) -> None:
        """Delete entries."""
        if ids:
            self._connection.execute(safe_delete(t).where(t.c.resource_id.in_(sorted(ids))))

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete the entries of a stack."""
        self._connection.execute(safe_delete(t).where(t.c.stack_id == stack_id))

    def _select(
        self,
        condition: sa.ColumnElement[bool],
        limit: int | None = None,
        *,
        locks: bool = False,
    ) -> list[QuarantineEntry]:
        query = sa.select(*_COLUMNS).where(condition).order_by(t.c.resource_id).limit(limit)
        query = query.with_for_update() if locks else query
        return read_each(self._connection.execute(query), _from_row)


def _from_row(row: Any) -> QuarantineEntry:
    values = check_row(t.name, _FIELDS, row)
    return QuarantineEntry(**dict(zip(_FIELDS, values, strict=True)))
