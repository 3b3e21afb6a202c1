"""All tables of a database at once, without the steps of the migrations.

Called by services in one process and by simulations, which start with an empty database, often
thousands of times in a process. Daemons have their tables from ``maintenance.schema_upgrade``.
"""

from __future__ import annotations

from functools import cache

from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Engine
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from heat_convergence.db.tables import metadata


def create_tables(engine: Engine) -> None:
    """Create those of the tables and indexes that the database does not have."""
    if engine.dialect.name != "sqlite":
        metadata.create_all(engine)
        return
    connection = engine.raw_connection()
    try:
        connection.executescript(_sqlite_script())
    finally:
        connection.close()


@cache
def _sqlite_script() -> str:
    """Return the statements as one text: to compile them takes longer than to run them."""
    statements: list[ExecutableDDLElement] = []
    for table in metadata.sorted_tables:
        statements.append(CreateTable(table, if_not_exists=True))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        statements.extend(CreateIndex(index, if_not_exists=True) for index in indexes)
    dialect = sqlite.dialect()
    texts = [str(each.compile(dialect=dialect)).strip() for each in statements]
    return ";\n".join(["BEGIN IMMEDIATE", *texts, "COMMIT"])
