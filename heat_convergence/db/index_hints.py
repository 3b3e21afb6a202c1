"""Hints by which statements lock the rows that they concern, and no others.

InnoDB locks every row and every index entry that it reads, matching or not, and on a
small table it prefers a full scan to looking up a few keys, so that two transactions
without a common row wait for each other.  Hints name the index to read.  Called by the
statements of this package.
"""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

PRIMARY_INDEX = "PRIMARY"
INNODB_DIALECTS = ("mysql", "mariadb")

Statement = TypeVar("Statement", sa.Select[Any], sa.Update)


def force_index(statement: Statement, table: sa.Table, index: str = PRIMARY_INDEX) -> Statement:
    """Return the statement with a hint that makes InnoDB read by ``index``.

    Other databases choose by themselves.
    """
    for dialect in INNODB_DIALECTS:
        if isinstance(statement, sa.Select):
            statement = statement.with_hint(table, f"FORCE INDEX ({index})", dialect)
        else:
            statement = statement.with_hint(f"FORCE INDEX ({index})", dialect_name=dialect)
    return statement


class SafeDelete(sa.Delete):
    """A DELETE that MySQL and MariaDB refuse to run without an index."""

    inherit_cache = True


def safe_delete(table: sa.Table) -> SafeDelete:
    """Return a DELETE from the table that never becomes a full scan.

    MySQL's DELETE takes no index hint; ``sql_safe_updates`` makes it refuse a full scan.
    """
    return SafeDelete(table)


@compiles(SafeDelete, *INNODB_DIALECTS)
def _compile(delete: SafeDelete, compiler: Any, **options: Any) -> str:
    text = str(compiler.visit_delete(delete, **options))
    if compiler.dialect.is_mariadb:
        return f"SET STATEMENT sql_safe_updates=1 FOR {text}"
    return text.replace("DELETE", "DELETE /*+ SET_VAR(sql_safe_updates=1) */", 1)
