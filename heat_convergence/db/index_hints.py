"""Statements that lock what they mean, and nothing beside it.

InnoDB locks every row and every entry of an index that it comes by, wanted or not,
and on a small table it would rather read all of it than look up a few keys; so two
transactions that have nothing in common wait for each other.  Here the way is told.
Called by the files of statements beside this one.
"""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

PRIMARY_INDEX = "PRIMARY"
_INNODB = ("mysql", "mariadb")

Statement = TypeVar("Statement", sa.Select[Any], sa.Update)


def force_index(statement: Statement, table: sa.Table, index: str = PRIMARY_INDEX) -> Statement:
    """The statement by way of that index of the table; elsewhere than on InnoDB, as
    the database likes."""
    for dialect in _INNODB:
        if isinstance(statement, sa.Select):
            statement = statement.with_hint(table, f"FORCE INDEX ({index})", dialect)
        else:
            statement = statement.with_hint(f"FORCE INDEX ({index})", dialect_name=dialect)
    return statement


class SafeDelete(sa.Delete):
    """A DELETE by whichever index fits; there, one that has none is refused."""

    inherit_cache = True


def safe_delete(table: sa.Table) -> SafeDelete:
    """DELETE takes no hint about indexes, but obeys the mode for careful people."""
    return SafeDelete(table)


@compiles(SafeDelete, *_INNODB)
def _compile(delete: SafeDelete, compiler: Any, **options: Any) -> str:
    text = str(compiler.visit_delete(delete, **options))
    if compiler.dialect.is_mariadb:
        return f"SET STATEMENT sql_safe_updates=1 FOR {text}"
    return text.replace("DELETE", "DELETE /*+ SET_VAR(sql_safe_updates=1) */", 1)
