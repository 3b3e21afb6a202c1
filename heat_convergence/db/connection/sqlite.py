"""Engines of SQLite: connections of a pool, a write-ahead log, statements that are compiled once.

Called by ``database``. Decides how a transaction begins. A process with many databases, such as a
simulation, compiles each statement once for all of them.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import QueuePool, StaticPool

from heat_convergence.db.connection.database import WRITES, new_statement_cache
from heat_convergence.db.encryption.column_encryption import get_keyring

BUSY_TIMEOUT_S = 30
_DRIVER = "sqlite+heatconvergence"
_compiled_statements = new_statement_cache()  # of all databases of the process


class SharedDialect(SQLiteDialect_pysqlite):
    """The dialect of SQLite, equal for all engines with the same keys.

    Compiled statements are found by their dialect, and have functions that encrypt.
    """

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        """Return whether statements that are compiled for one are right for the other."""
        return isinstance(other, SharedDialect) and get_keyring(self) == get_keyring(other)

    def __hash__(self) -> int:
        """Return the same for all: keys may be attached later."""
        return hash(SharedDialect)


registry.register(_DRIVER.replace("+", "."), __name__, SharedDialect.__name__)


def create_sqlite_engine(url: URL, pool_size: int) -> Engine:
    """Return an engine; that of oslo.db would open the file for every transaction."""
    url = url.set(drivername=_DRIVER)
    if url.database in (None, "", ":memory:"):
        engine = sa.create_engine(
            url, poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    else:
        engine = sa.create_engine(url, poolclass=QueuePool, pool_size=pool_size, max_overflow=50)
    exc_filters.register_engine(engine)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    engine.update_execution_options(compiled_cache=_compiled_statements)
    return engine


def _configure(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # ``_begin`` sends BEGIN
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: after a read, its snapshot could be stale by the
    # time that it gets the lock.
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
