"""Stacks as lists show them: few columns of each, since a project may have ten thousand.

Called by the lists of the API. Two statements, whatever the number of stacks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.column_types import EnumText, JsonText, UtcTime
from heat_convergence.db.reads.stacks import Pagination, StackFilter, find_tags, select_page
from heat_convergence.db.statements.stack_rows import FIELDS, replace_unreadable_values
from heat_convergence.db.tables import stack as t


@dataclass(frozen=True, slots=True)
class StackSummary:
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


_SHOWN = tuple(field.name for field in fields(StackSummary) if field.name != "tags")
# A stack is FAILED in lists, too, if one of its other values cannot be decoded (RULE 11).
_CHECKED = tuple(
    name
    for name in FIELDS
    if name not in _SHOWN and isinstance(t.c[name].type, UtcTime | EnumText | JsonText)
)
_FIELDS = _SHOWN + _CHECKED
_COLUMNS = tuple(t.c[name] for name in _FIELDS)


def list_summaries(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination | None = None
) -> list[StackSummary]:
    """Return a page of stacks with their tags."""
    pagination = pagination or Pagination()
    rows = conn.execute(select_page(conn, _COLUMNS, stack_filter, pagination)).all()
    tags = find_tags(conn, stack_filter, pagination, [row.id for row in rows])
    return [_from_row(row, tags.get(row.id, ())) for row in rows]


def _from_row(row: Any, tags: tuple[str, ...]) -> StackSummary:
    values = replace_unreadable_values(_FIELDS, row)
    for name in _CHECKED:
        del values[name]
    return StackSummary(**values, tags=tags)
