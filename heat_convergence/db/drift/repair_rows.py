"""The repairs that the service starts by itself, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.repair_budget import RepairStatus, ResourceRepair
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import drift_repair as t
from heat_convergence.db.tables import stack

_FIELDS = tuple(field.name for field in fields(ResourceRepair))
COLUMNS = tuple(t.c[name] for name in _FIELDS)


def list_by(connection: Connection, condition: sa.ColumnElement[bool]) -> list[ResourceRepair]:
    """Return the matching repairs, by stack and name."""
    query = sa.select(*COLUMNS).where(condition).order_by(t.c.stack_id, t.c.resource_name)
    return read_each(connection.execute(query), from_row)


def replace_rows(connection: Connection, repairs: Sequence[ResourceRepair]) -> None:
    """Store repairs, in place of the rows with the same keys."""
    by_stack: dict[str, list[str]] = {}
    for repair in repairs:
        by_stack.setdefault(repair.stack_id, []).append(repair.resource_name)
    for stack_id, names in sorted(by_stack.items()):
        key = sa.and_(t.c.stack_id == stack_id, t.c.resource_name.in_(sorted(names)))
        connection.execute(safe_delete(t).where(key))
    if repairs:
        connection.execute(t.insert(), [_values(repair) for repair in repairs])


def reset_deferred(connection: Connection, stack_id: str) -> None:
    """Let deferred repairs of a stack, and of those below a root stack, be decided again."""
    descendants = sa.select(stack.c.id).where(stack.c.root_id == stack_id)
    of_tree = sa.or_(t.c.stack_id == stack_id, t.c.stack_id.in_(descendants))
    # A repair that was deferred at an older version of its stack is decided again.
    deferred = sa.and_(t.c.status == RepairStatus.DEFERRED, of_tree)
    connection.execute(t.update().where(deferred).values(version=None))


def _values(repair: ResourceRepair) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(repair, name) for name in _FIELDS}
    values["destructive_at"] = [time.isoformat() for time in repair.destructive_at]
    return values


def from_row(row: Any) -> ResourceRepair:
    """Return the repair of a row of ``COLUMNS``.

    Raises:
        StoredValueUnreadable: A value of the row cannot be decoded.
    """
    values = dict(zip(_FIELDS, check_row(t.name, _FIELDS, row), strict=False))
    times = tuple(datetime.fromisoformat(text) for text in values["destructive_at"])
    return ResourceRepair(**{**values, "destructive_at": times})
