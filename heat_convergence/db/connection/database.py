"""The connection to the database: one engine, two kinds of transaction.

Decides isolation and locking mode; ``driver_errors`` decides which errors may be retried.
Built by ``cli``, used by ``db.store``, reads and maintenance.  It knows no table and runs
no query of its own except a ping.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_db.sqlalchemy import engines as oslo_engines
from sqlalchemy import event
from sqlalchemy import exc as sa_exc
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import LRUCache

from heat_convergence.common import errors, metrics
from heat_convergence.common.evaluation.evaluation_guard import holding_locks
from heat_convergence.common.failures import Unavailable
from heat_convergence.db.connection.driver_errors import translate_driver_errors
from heat_convergence.db.connection.galera import detect_galera, is_on_galera
from heat_convergence.db.connection.roundtrips import reduce_roundtrips
from heat_convergence.db.connection.tls import share_tls_context

LOG = logging.getLogger(__name__)

# As many as a busy worker uses at once: a connection beyond them is opened for one
# transaction and closed after it, which costs more than the transaction.
_POOL_SIZE = 20
# Statements that a process keeps in compiled form, of some ten kilobytes each, and by how much
# of them it may exceed that. A service has about 200 by itself; the others are lists with
# filters and orders that users choose.
_COMPILED_STATEMENTS = 256
_EXCESS = 0.25
WRITES = "heat_convergence_writes"  # an execution option of connections that write


class Database:
    """Transactions on one database.

    ``write`` and ``read`` yield a connection inside a transaction.  They raise
    ``ConcurrentTransaction`` when the same block may succeed if it is run again at once,
    ``Unavailable`` when the server does not answer, ``StorageRefused`` when the database
    would refuse the block again.
    """

    def __init__(self, engine: Engine) -> None:
        """Use the connections of ``engine``."""
        self.engine = engine
        self._writer = engine.execution_options(**{WRITES: True})
        self._write_guard: AbstractContextManager[Any] = nullcontext()
        self._read_guard: AbstractContextManager[Any] = nullcontext()
        if engine.dialect.name == "sqlite":
            # SQLite has one writer, and waits for it by a loop that would block every
            # greenthread: the writers of this process queue here instead.
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
        """Open a transaction: commit at its end, roll back on an exception; not nestable."""
        with (
            translate_driver_errors(),
            self._write_guard,
            self._writer.begin() as connection,
            holding_locks(),
        ):
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction for reading; nothing is committed."""
        with translate_driver_errors(), self._read_guard, self.engine.connect() as connection:
            yield connection

    def is_on_galera(self) -> bool:
        """Return whether the server is a node of a Galera cluster."""
        with self.read() as connection:
            return is_on_galera(connection)

    def ping(self) -> None:
        """Raise ``Unavailable`` unless the database answers."""
        with self.read() as connection:
            connection.execute(sa.text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def create_database(conf: cfg.ConfigOpts) -> Database:
    """Return the database of the ``[database]`` options, without connecting to it."""
    return Database(create_engine(conf))


def set_library_defaults() -> None:
    """Set our defaults of oslo.db's options, for the service and for the sample file."""
    cfg.set_defaults(db_options.database_opts, max_pool_size=_POOL_SIZE)


def create_engine(conf: cfg.ConfigOpts) -> Engine:
    """Return the engine of the ``[database]`` options.

    Raises:
        RequiredOptError: ``connection`` is not set.
        Invalid: ``connection`` is not a URL that SQLAlchemy accepts.
    """
    set_library_defaults()
    conf.register_opts(db_options.database_opts, group="database")
    options = conf.database
    if not options.connection:
        raise cfg.RequiredOptError("connection", group=cfg.OptGroup("database"))
    try:
        url = make_url(options.connection)
        is_sqlite = url.get_backend_name() == "sqlite"
        engine = _sqlite_engine(url) if is_sqlite else _server_engine(url, options)
    except (sa_exc.ArgumentError, ValueError) as error:  # neither contains the password
        raise errors.Invalid(f"[database] connection cannot be used: {error}") from error
    _count_connections(engine)
    return engine


def _count_connections(engine: Engine) -> None:
    @event.listens_for(engine, "checkout")
    def check_out(connection: Any, record: Any, proxy: Any) -> None:
        """Count a connection that a transaction takes."""
        metrics.DATABASE_CONNECTIONS.inc()

    @event.listens_for(engine, "checkin")
    def check_in(connection: Any, record: Any) -> None:
        """Count a connection that a transaction gives back."""
        metrics.DATABASE_CONNECTIONS.dec()


def database_from_url(url: str) -> Database:
    """Return a database by its URL, with default options, for tests and tools."""
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
    """Call ``check`` until it raises ``Unavailable`` no more, with growing pauses.

    Args:
        check: the probe.
        wait: sleeps so many seconds; a daemon passes an event's ``wait``, so that
            SIGTERM ends it.
        is_stopping: ends the wait when it returns true.
        max_wait_s: the longest pause.

    Returns:
        Whether the probe passed; False if the process is stopping.
    """
    pause_s = 0.5
    while not is_stopping():
        try:
            check()
        except Unavailable as error:
            LOG.warning("waiting for the database: error=%(error)s", {"error": error.log_text})
            wait(pause_s)
            pause_s = min(pause_s * 2, max_wait_s)
        else:
            return True
    return False


def new_statement_cache() -> Any:
    """Return an empty cache of compiled statements."""
    return LRUCache(_COMPILED_STATEMENTS, threshold=_EXCESS)


def _sqlite_engine(url: URL) -> Engine:
    # Not above: who has a database server does not need the dialect of SQLite.
    sqlite = import_module("heat_convergence.db.connection.sqlite")
    engine: Engine = sqlite.create_sqlite_engine(url, _POOL_SIZE)
    return engine


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
        # A greenthread that gives a connection back need not sleep to let others run: each
        # statement does.
        thread_checkin=False,
    )

    @event.listens_for(engine, "connect")
    def isolate(dbapi_connection: Any, record: Any) -> None:
        """Set READ COMMITTED."""
        # Once per connection: as an execution option it would cost every
        # transaction two more round trips.
        engine.dialect.set_isolation_level(dbapi_connection, "READ COMMITTED")

    if engine.dialect.name in ("mysql", "mariadb"):
        detect_galera(engine, sync_wait=options.mysql_wsrep_sync_wait)
    if engine.dialect.driver == "pymysql":
        # Not above: the driver is an extra.
        import_module("heat_convergence.db.connection.mysql_rows").read_rows_quickly(engine)
        share_tls_context(engine)
    reduce_roundtrips(engine)
    engine.update_execution_options(compiled_cache=new_statement_cache())
    return engine
