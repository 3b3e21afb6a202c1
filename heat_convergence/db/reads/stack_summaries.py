"""Stacks as lists show them: few columns of each, since a project may have ten thousand.

Called by the lists of the API. Two statements, whatever the number of stacks, and a third if a
row cannot be decoded. The database joins short columns of a row to one text, which is split at
once: a driver in Python takes as long for one column as for the text, and SQLAlchemy would call a
function for each time or state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.column_types import (
    EARLIEST_TIME,
    LATEST_TIME,
    UtcTime,
    from_microseconds,
    to_microseconds,
)
from heat_convergence.db.reads.stacks import Pagination, StackFilter, find_tags, select_page
from heat_convergence.db.statements.stack_rows import COLUMNS, FIELDS, from_row_for_display
from heat_convergence.db.tables import stack as t

Converted = TypeVar("Converted")


class StackSummary(NamedTuple):
    """The part of a stack that lists show."""

    id: str
    name: str
    project_id: str
    action: Action
    status: Status
    status_reason: str
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None
    username: str | None
    owner_id: str | None
    tags: tuple[str, ...] = ()


_SHOWN = StackSummary._fields[:-1]
_EARLIEST, _LATEST = to_microseconds(EARLIEST_TIME), to_microseconds(LATEST_TIME)
_ACTIONS = {member.value: member for member in Action}
_STATUSES = {member.value: member for member in Status}
_SEPARATOR = ","  # none of the joined values but the last can contain it


def _as_text(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    stored = sa.type_coerce(column, getattr(column.type, "impl_instance", column.type))
    return sa.func.coalesce(sa.cast(stored, sa.String), sa.literal_column("''", sa.String))


def _join(*columns: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    first, *others = (_as_text(column) for column in columns)
    separator = sa.literal_column(f"'{_SEPARATOR}'", sa.String)
    for other in others:
        first = first + separator + other
    return first


def _has_unreadable_time() -> sa.ColumnElement[Any]:
    """Build a 1 for a stack with a time that cannot be decoded beside those that are shown.

    It is FAILED in lists, too (RULE 11).
    """
    times = [
        sa.type_coerce(t.c[name], sa.BigInteger)
        for name in FIELDS
        if name not in _SHOWN and isinstance(t.c[name].type, UtcTime)
    ]
    outside = [sa.not_(time.between(_EARLIEST, _LATEST)) for time in times]
    return sa.case((sa.or_(*outside), 1), else_=0)


# The project's id is what callers gave; all other joined values are of this service's making.
_JOINED = _join(
    t.c.id,
    t.c.action,
    t.c.status,
    t.c.created_at,
    t.c.updated_at,
    t.c.deleted_at,
    t.c.owner_id,
    _has_unreadable_time(),
    t.c.project_id,
)
_SEPARATORS = 8
_COLUMNS = (_JOINED, t.c.name, t.c.username, sa.type_coerce(t.c.status_reason, sa.Text))


def list_summaries(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination | None = None
) -> list[StackSummary]:
    """Return a page of stacks with their tags."""
    return list_converted(conn, stack_filter, pagination, decode_row, lambda summary: summary)


def list_converted(
    conn: Connection,
    stack_filter: StackFilter,
    pagination: Pagination | None,
    convert_row: Callable[..., Converted | None],
    convert: Callable[[StackSummary], Converted],
) -> list[Converted]:
    """Return what the stacks of a page are converted to.

    Args:
        conn: the transaction's connection.
        stack_filter: which stacks.
        pagination: which page of them; None for all.
        convert_row: converts the arguments of ``decode_row``; None if they cannot be decoded.
        convert: converts a stack with substitutes for values that cannot be decoded.
    """
    page = pagination or Pagination()
    rows = conn.execute(select_page(conn, _COLUMNS, stack_filter, page)).all()
    ids = [row[0].partition(_SEPARATOR)[0] for row in rows]
    tags = find_tags(conn, stack_filter, page, ids)
    found = [convert_row(*row, tags.get(key, ())) for key, row in zip(ids, rows, strict=True)]
    unreadable = [key for key, each in zip(ids, found, strict=True) if each is None]
    if not unreadable:
        return [each for each in found if each is not None]
    read = _read_for_display(conn, unreadable, tags)
    shown = {key: convert(summary) for key, summary in read.items()}
    found = [
        shown.get(key) if each is None else each for key, each in zip(ids, found, strict=True)
    ]
    return [each for each in found if each is not None]  # one may be purged meanwhile


def decode_row(
    joined: str, name: str, username: str | None, reason: str, tags: tuple[str, ...]
) -> StackSummary | None:
    """Return a stack, or None if a value cannot be decoded."""
    key, action, status, created, updated, deleted, owner, unreadable, project = joined.split(
        _SEPARATOR, _SEPARATORS
    )
    if unreadable != "0":
        return None
    try:
        return StackSummary(
            key,
            name,
            project,
            _ACTIONS[action],
            _STATUSES[status],
            reason,
            from_microseconds(int(created)),
            from_microseconds(int(updated)) if updated else None,
            from_microseconds(int(deleted)) if deleted else None,
            username,
            owner or None,
            tags,
        )
    except (KeyError, OverflowError, ValueError):
        return None


def _read_for_display(
    conn: Connection, ids: Collection[str], tags: Mapping[str, tuple[str, ...]]
) -> Mapping[str, StackSummary]:
    """Return stacks with substitutes for the values that cannot be decoded."""
    stacks = map(from_row_for_display, conn.execute(sa.select(*COLUMNS).where(t.c.id.in_(ids))))
    return {
        stack.id: StackSummary._make(
            (*(getattr(stack, name) for name in _SHOWN), tags.get(stack.id, ()))
        )
        for stack in stacks
    }
