"""Stacks as lists show them: few columns of each, since a project may have ten thousand.

Called by the lists of the API. Two statements, whatever the number of stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.column_types import EnumText, JsonText, UtcTime
from heat_convergence.db.reads.stacks import Pagination, StackFilter, conditions, select_page
from heat_convergence.db.statements.stack_rows import FIELDS, replace_unreadable_values
from heat_convergence.db.tables import stack as t
from heat_convergence.db.tables import stack_tag


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
    if not rows:
        return []
    tags = _find_tags(conn, stack_filter, pagination, [row.id for row in rows])
    return [_from_row(row, tags.get(row.id, ())) for row in rows]


def _from_row(row: Any, tags: Sequence[str]) -> StackSummary:
    values = replace_unreadable_values(_FIELDS, row)
    for name in _CHECKED:
        del values[name]
    return StackSummary(**values, tags=tuple(tags))


def _find_tags(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination, ids: Iterable[str]
) -> dict[str, list[str]]:
    """Return the tags of stacks by id; those of a whole list without naming each of its ids."""
    query = sa.select(stack_tag.c.stack_id, stack_tag.c.tag)
    if pagination.limit is None:
        query = query.join(t, t.c.id == stack_tag.c.stack_id).where(*conditions(stack_filter))
    else:
        query = query.where(stack_tag.c.stack_id.in_(list(ids)))
    found: dict[str, list[str]] = {}
    for stack_id, tag in conn.execute(query.order_by(stack_tag.c.stack_id, stack_tag.c.position)):
        found.setdefault(stack_id, []).append(tag)
    return found
