"""Stacks as lists show them: few columns of each, since a project may have ten thousand.

Called by the lists of the API. Two statements, whatever the number of stacks. A row is decoded in
one step: SQLAlchemy would call a function for each value of a time or state.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.types import TypeDecorator

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.column_types import (
    EARLIEST_TIME,
    LATEST_TIME,
    EnumText,
    JsonText,
    UtcTime,
    from_microseconds,
    to_microseconds,
)
from heat_convergence.db.reads.stacks import Pagination, StackFilter, find_tags, select_page
from heat_convergence.db.statements.stack_rows import FIELDS, replace_unreadable_values
from heat_convergence.db.tables import stack as t


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
# A stack is FAILED in lists, too, if one of its other values cannot be decoded (RULE 11).
_CHECKED = tuple(
    name
    for name in FIELDS
    if name not in _SHOWN and isinstance(t.c[name].type, UtcTime | EnumText | JsonText)
)
_FIELDS = _SHOWN + _CHECKED
_COLUMNS = tuple(t.c[name] for name in _FIELDS)
_AS_STORED = tuple(
    sa.type_coerce(column, column.type.impl_instance)
    if isinstance(column.type, TypeDecorator)
    else column
    for column in _COLUMNS
)
_ACTIONS = {member.value: member for member in Action}
_STATUSES = {member.value: member for member in Status}
_EARLIEST, _LATEST = to_microseconds(EARLIEST_TIME), to_microseconds(LATEST_TIME)


def list_summaries(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination | None = None
) -> list[StackSummary]:
    """Return a page of stacks with their tags."""
    page = pagination or Pagination()
    rows = conn.execute(select_page(conn, _AS_STORED, stack_filter, page)).all()
    tags = find_tags(conn, stack_filter, page, [row[0] for row in rows])
    return [_decode(row, tags.get(row[0], ()), conn.dialect) for row in rows]


def _decode(row: Sequence[Any], tags: tuple[str, ...], dialect: Dialect) -> StackSummary:
    """Return a stack from a row, in one step if all values can be decoded, as almost always."""
    key, name, project, action, status, reason, created, updated, deleted, user, owner, *other = (
        row
    )
    try:
        for at in other:
            if at is not None and not _EARLIEST <= at <= _LATEST:
                return _decode_unreadable(row, tags, dialect)
        return StackSummary(
            key,
            name,
            project,
            _ACTIONS[action],
            _STATUSES[status],
            reason,
            from_microseconds(created),
            _time(updated),
            _time(deleted),
            user,
            owner,
            tags,
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        return _decode_unreadable(row, tags, dialect)


def _time(stored: int | None) -> datetime | None:
    return None if stored is None else from_microseconds(stored)


def _decode_unreadable(
    row: Sequence[Any], tags: tuple[str, ...], dialect: Dialect
) -> StackSummary:
    decoders = [column.type.result_processor(dialect, None) for column in _COLUMNS]
    decoded = [
        value if decode is None else decode(value)
        for decode, value in zip(decoders, row, strict=True)
    ]
    values = replace_unreadable_values(_FIELDS, decoded)
    return StackSummary(**{name: values[name] for name in _SHOWN}, tags=tags)
