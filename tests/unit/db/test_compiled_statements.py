"""A process keeps a bounded number of compiled statements, most of all those it uses often."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from heat_convergence.db.connection.database import database_from_url

COLUMNS = [sa.column(name) for name in "abcdefghi"]
TABLE = sa.table("stack", *COLUMNS)


def list_statement(number: int) -> sa.Select[Any]:
    """Return a list of stacks by those filters that the bits of the number choose."""
    chosen = [column for at, column in enumerate(COLUMNS) if number & 1 << at]
    return sa.select(TABLE).where(*(column.in_(["x"]) for column in chosen))


def test_statements_that_users_shape_are_bounded() -> None:
    database = database_from_url("sqlite://")
    compiled = database.engine.get_execution_options()["compiled_cache"]
    often = sa.select(sa.func.count()).select_from(TABLE)
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE stack (a, b, c, d, e, f, g, h, i)")
        connection.execute(often)
        kept = next(iter(compiled))
        sizes = []
        for number in range(330):
            connection.execute(list_statement(number))
            connection.execute(often)
            sizes.append(len(compiled))
    assert 256 <= max(sizes) <= 320
    assert kept in set(compiled)
    assert not database.engine._compiled_cache  # the library's own, of another size
    database.close()
