"""Stacks as rows: which columns are read.

Called by the repositories and by the API's reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.tables import stack

FIELDS = tuple(name for name in Stack.__slots__ if name != "tags")
COLUMNS = tuple(stack.c[name] for name in FIELDS)


def from_row(row: Any, tags: Sequence[str] = ()) -> Stack:
    """Return a stack from a row of ``select(*COLUMNS)``."""
    return Stack(**dict(zip(FIELDS, row, strict=True)), tags=tuple(tags))
