"""Snapshots as rows: which columns are read."""

from __future__ import annotations

from typing import Any

from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.db.tables import snapshot

FIELDS = Snapshot.__slots__
COLUMNS = tuple(snapshot.c[name] for name in FIELDS)


def from_row(row: Any) -> Snapshot:
    """Return a snapshot from a row of ``select(*COLUMNS)``."""
    return Snapshot(**dict(zip(FIELDS, row, strict=True)))
