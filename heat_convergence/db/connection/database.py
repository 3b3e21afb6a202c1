"""The connection to the database: one engine, two kinds of transaction.

Decides isolation, locking mode and which driver errors mean "again" or "later".
Called by ``cli`` (to build it) and by ``db.store`` and ``db.migrate``; it knows
no table and runs no query of its own but the one that asks whether anyone answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_db import options as db_options
from oslo_db.sqlalchemy import engines as oslo_engines
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import event
from sqlalchemy import exc as sa_exc
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import QueuePool, StaticPool

from heat_convergence.common import errors
from heat_convergence.db.connection.roundtrips import reduce_roundtrips
from heat_convergence.db.connection.tls import share_tls_context

LOG = logging.getLogger(__name__)

SQLITE_BUSY_TIMEOUT_S = 30
# As many as a worker uses at once when it is busy: what is above is opened for one
# transaction and closed after it, which costs more than the transaction.
_POOL_SIZE = 20
_WRITES = "heat_convergence_writes"

# What the servers answer when another transaction was preferred.
_PG_CONCURRENT = frozenset({"40001", "40P01", "55P03"})
_MYSQL_CONCURRENT = frozenset({1020, 1205, 1213})
# No room, shutting down, starting up, read-only in a failover, password being rotated.
_PG_DOWN = frozenset({"53300", "57P01", "57P02", "57P03", "25006"})
_MYSQL_DOWN = frozenset({1040, 1044, 1045, 1047, 1053, 1290, 1927, 2002, 2003, 2006, 2013, 2055})


class Database:
    """Transactions on one database.

    ``write`` and ``read`` yield a connection inside a transaction.  They raise
    ``ConcurrentTransaction`` when the same block may succeed if it is run again
    at once, ``Unavailable`` when nobody answers, ``StorageRefused`` when the
    database will never take it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writer = engine.execution_options(**{_WRITES: True})
        self._write_guard: AbstractContextManager[Any] = nullcontext()
        self._read_guard: AbstractContextManager[Any] = nullcontext()
        if engine.dialect.name == "sqlite":
            # SQLite has one writer, and its own waiting is a spin that would stop
            # every greenthread: the writers of this process queue here instead.
            self._write_guard = threading.Lock()
            if isinstance(engine.pool, StaticPool):  # in memory: one connection for all
                self._read_guard = self._write_guard

    @property
    def dialect(self) -> str:
        """``sqlite``, ``mysql`` or ``postgresql``."""
        name = self.engine.dialect.name
        return "mysql" if name == "mariadb" else name

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Commit at the end of the block, roll back on an exception.  Not nestable."""
        with translate_driver_errors(), self._write_guard, self._writer.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction for reading; nothing is committed."""
        with translate_driver_errors(), self._read_guard, self.engine.connect() as connection:
            yield connection

    def ping(self) -> None:
        """Raise ``Unavailable`` unless the database answers."""
        with self.read() as connection:
            connection.execute(sa.text("SELECT 1"))

    def close(self) -> None:
        self.engine.dispose()


def create_database(conf: cfg.ConfigOpts) -> Database:
    """The database of the ``[temporary_database]`` options; connects to nothing yet."""
    return Database(create_engine(conf))


def set_library_defaults() -> None:
    """Also called for the sample file."""
    cfg.set_defaults(db_options.database_opts, max_pool_size=_POOL_SIZE)


def create_engine(conf: cfg.ConfigOpts) -> Engine:
    set_library_defaults()
    conf.register_opts(db_options.database_opts, group="database")
    options = conf.database
    if not options.connection:
        raise cfg.RequiredOptError("connection", group=cfg.OptGroup("database"))
    try:
        url = make_url(options.connection)
        if url.get_backend_name() == "sqlite":
            return _sqlite_engine(url)
        return _server_engine(url, options)
    except (sa_exc.ArgumentError, ValueError) as error:  # neither tells the password
        raise errors.Invalid(f"[database] connection cannot be used: {error}") from error


def database_from_url(url: str) -> Database:
    """A database by URL alone, with default options: tests, benchmarks, tools."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    set_library_defaults()
    conf.register_opts(db_options.database_opts, group="database")
    conf.set_override("connection", url, group="database")
    return create_database(conf)


def wait_until_available(
    check: Callable[[], None],
    *,
    wait: Callable[[float], object],
    is_stopping: Callable[[], bool],
    max_wait_s: float = 10.0,
) -> bool:
    """Call ``check`` until it passes, ever more slowly; False when told to stop.

    ``wait`` takes seconds; a daemon passes an event's ``wait``, so that SIGTERM
    ends it.
    """
    pause_s = 0.5
    while not is_stopping():
        try:
            check()
        except errors.Unavailable as error:
            LOG.warning("waiting for the database: %s", error)
            wait(pause_s)
            pause_s = min(pause_s * 2, max_wait_s)
        else:
            return True
    return False


@contextmanager
def translate_driver_errors() -> Iterator[None]:
    """Drivers' errors as this service's: ``ConcurrentTransaction``, ``Unavailable``,
    and ``StorageRefused`` for what would fail again."""
    try:
        yield
    except db_exc.DBDeadlock as error:
        raise errors.ConcurrentTransaction(_first_line(error)) from error
    except (db_exc.DBConnectionError, db_exc.DBNonExistentDatabase) as error:
        raise errors.Unavailable(_first_line(error)) from error
    except sa_exc.TimeoutError as error:  # every connection of the pool is in use
        raise errors.Unavailable(_first_line(error)) from error
    except (sa_exc.StatementError, db_exc.DBError) as error:
        own = _own_error(error)
        if own is not None:
            raise own from error
        kind = _kind(error) or errors.StorageRefused
        raise kind(_first_line(error)) from error


def _own_error(error: Exception) -> errors.Error | None:
    """This service's error that a column type raised while a value was bound."""
    cause = getattr(error, "orig", None) or getattr(error, "inner_exception", None)
    cause = getattr(cause, "orig", cause)
    return cause if isinstance(cause, errors.Error) else None


def _kind(error: Exception) -> type[errors.Error] | None:
    """What a driver's error that oslo.db does not classify means."""
    cause = getattr(error, "orig", None) or getattr(error, "inner_exception", None)
    cause = getattr(cause, "orig", cause)
    module = type(cause).__module__
    if module.startswith("sqlite3"):
        return errors.ConcurrentTransaction if "locked" in str(cause) else None
    if module.startswith("psycopg2"):
        return _postgresql_kind(cause)
    if module.startswith("pymysql"):
        code = cause.args[0] if cause is not None and cause.args else None
        if code in _MYSQL_CONCURRENT:
            return errors.ConcurrentTransaction
        return errors.Unavailable if code in _MYSQL_DOWN else None
    return None


def _postgresql_kind(cause: Any) -> type[errors.Error] | None:
    if cause.pgcode in _PG_CONCURRENT:
        return errors.ConcurrentTransaction
    # An operational error without a code did not come from the server: it is libpq
    # that could not reach it.
    lost = cause.pgcode is None and type(cause).__name__ in ("OperationalError", "InterfaceError")
    return errors.Unavailable if lost or cause.pgcode in _PG_DOWN else None


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _server_engine(url: URL, options: Any) -> Engine:
    if url.get_backend_name() in ("mysql", "mariadb"):
        url = url.update_query_dict({"charset": url.query.get("charset", "utf8mb4")})
    engine: Engine = oslo_engines.create_engine(
        url,
        mysql_sql_mode=options.mysql_sql_mode,
        mysql_wsrep_sync_wait=options.mysql_wsrep_sync_wait,
        connection_recycle_time=options.connection_recycle_time,
        connection_debug=options.connection_debug,
        connection_trace=options.connection_trace,
        connection_parameters=options.connection_parameters,
        max_pool_size=options.max_pool_size,
        max_overflow=options.max_overflow,
        pool_timeout=options.pool_timeout,
        max_retries=0,  # daemons wait on their own, and can be stopped while they do
    )

    @event.listens_for(engine, "connect")
    def isolate(dbapi_connection: Any, record: Any) -> None:
        # Once per connection: as an execution option it would cost every
        # transaction two more round trips.
        engine.dialect.set_isolation_level(dbapi_connection, "READ COMMITTED")

    if engine.dialect.driver == "pymysql":
        share_tls_context(engine)
    reduce_roundtrips(engine)
    return engine


def _sqlite_engine(url: URL) -> Engine:
    """SQLite with a pool and write-ahead log; oslo.db's own would open the file
    anew for every transaction."""
    if url.database in (None, "", ":memory:"):
        engine = sa.create_engine(
            url, poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    else:
        engine = sa.create_engine(url, poolclass=QueuePool, pool_size=_POOL_SIZE, max_overflow=50)
    exc_filters.register_engine(engine)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # BEGIN is ours to send
    connection.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT_S * 1000}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: one that read first could not get it later
    # without its snapshot being stale.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
