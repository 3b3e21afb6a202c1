"""The insertion of rows.

Called by the repositories of tables that get rows with each stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection


@cache
def insert_into(table: sa.Table) -> sa.Insert:
    """Return the INSERT of a table, which is built once."""
    return table.insert()


def insert_rows(
    connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows with the same columns, leaving out columns that are NULL in all of them.

    A third of the columns of a new stack's rows are NULL, and a driver written in Python takes
    a microsecond to send each value.  A column left out must have no other default.
    """
    if not rows:
        return
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    connection.execute(insert_into(table), [{name: row[name] for name in names} for row in rows])
