"""A database whose tables are new, for tests that share one database of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.tables import metadata


@contextmanager
def open_with_empty_tables(url: str) -> Iterator[Database]:
    """Open a database with new tables, and drop them at the end."""
    database = database_from_url(url)
    metadata.drop_all(database.engine)
    metadata.create_all(database.engine)
    yield database
    metadata.drop_all(database.engine)
    database.close()
