"""Snapshots as rows: which columns are read."""

from __future__ import annotations

from typing import Any

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.db.statements.readable_rows import check_row, replace_unreadable
from heat_convergence.db.statements.stack_rows import SUBSTITUTES
from heat_convergence.db.tables import snapshot

FIELDS = Snapshot.__slots__
COLUMNS = tuple(snapshot.c[name] for name in FIELDS)


def from_row(row: Any) -> Snapshot:
    """Return a snapshot from a row of ``select(*COLUMNS)``."""
    return Snapshot(**dict(zip(FIELDS, check_row("snapshot", FIELDS, row), strict=True)))


def from_row_for_display(row: Any) -> Snapshot:
    """Return a snapshot to show: FAILED, with the reason, if its row cannot be decoded."""
    values, error = replace_unreadable("snapshot", FIELDS, row, SUBSTITUTES)
    if error:
        values.update(status=Status.FAILED, status_reason=error)
    if not is_readable(values["data"]):
        values["data"] = None
    return Snapshot(**values)
