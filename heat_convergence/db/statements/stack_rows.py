"""Stacks as rows: which columns are read.

Called by the repositories and by the API's reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.statements.readable_rows import check_row, replace_unreadable
from heat_convergence.db.tables import stack

FIELDS = tuple(name for name in Stack.__slots__ if name != "tags")
COLUMNS = tuple(stack.c[name] for name in FIELDS)
COUNT_ROOTS = sa.select(sa.func.count()).where(
    stack.c.project_id == sa.bindparam("project"),
    stack.c.owner_id.is_(None),
    stack.c.deleted_at.is_(None),
)
"""The number of a project's root stacks that are not deleted."""
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
SUBSTITUTES: Mapping[str, Any] = {
    "action": Action.INIT,
    "status": Status.FAILED,
    "created_at": NO_TIME,
}
"""Values for display, in place of those that cannot be decoded."""


def from_row(row: Any, tags: Sequence[str] = ()) -> Stack:
    """Return a stack from a row of ``select(*COLUMNS)``."""
    values = zip(FIELDS, check_row("stack", FIELDS, row), strict=True)
    return Stack(**dict(values), tags=tuple(tags))


def from_row_for_display(row: Any) -> Stack:
    """Return a stack to show: FAILED, with the reason, if its row cannot be decoded."""
    return Stack(**replace_unreadable_values(FIELDS, row))


def replace_unreadable_values(fields: Sequence[str], row: Any) -> dict[str, Any]:
    """Return the values of a row to show; status and reason say what cannot be decoded."""
    values, error = replace_unreadable("stack", fields, row, SUBSTITUTES)
    if error:
        values.update(status=Status.FAILED, status_reason=error)
    return values
