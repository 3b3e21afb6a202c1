"""Questions to the server that nobody needs are not asked.

A transaction cost three round trips beside its statements: a ping before it, the
commit, and a rollback when its connection went back to the pool.  Here the first is
left out where the connection was in use just now, the last where it has committed.
Called by ``db.engine`` for a new engine; must not change what a transaction means.
"""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import event
from sqlalchemy.engine import Engine

# How long a connection may have lain in the pool to be used without a ping.  Should it
# have died meanwhile, its transaction fails as one that is cut off half-way does.
PING_AFTER_IDLE_S = 1.0


def reduce_roundtrips(engine: Engine) -> None:
    """Makes the engine's connections ask less."""
    _spare_pings(engine)
    if engine.dialect.name in ("mysql", "mariadb"):  # psycopg2 spares them by itself
        _spare_rollbacks(engine)


def _spare_pings(engine: Engine) -> None:
    ping = engine.dialect.do_ping
    used_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    @event.listens_for(engine, "checkin")
    def note(dbapi_connection: Any, record: Any) -> None:
        if dbapi_connection is not None:
            used_at[dbapi_connection] = time.monotonic()

    def ping_unless_fresh(dbapi_connection: Any) -> bool:
        since = used_at.get(dbapi_connection)
        fresh = since is not None and time.monotonic() - since < PING_AFTER_IDLE_S
        return fresh or ping(dbapi_connection)

    engine.dialect.do_ping = ping_unless_fresh  # type: ignore[method-assign]


def _spare_rollbacks(engine: Engine) -> None:
    """Only between a commit and the next begin is there surely nothing to roll back:
    the client is not told whether a statement that failed began a transaction."""
    dialect = engine.dialect
    begin, commit, rollback = dialect.do_begin, dialect.do_commit, dialect.do_rollback

    committed: WeakSet[Any] = WeakSet()

    def do_begin(connection: Any) -> None:
        committed.discard(connection.dbapi_connection)
        begin(connection)

    def do_commit(connection: Any) -> None:
        commit(connection)
        committed.add(connection.dbapi_connection)

    def do_rollback(connection: Any) -> None:
        if connection.dbapi_connection in committed:
            committed.discard(connection.dbapi_connection)
        else:
            rollback(connection)

    dialect.do_begin = do_begin  # type: ignore[method-assign]
    dialect.do_commit = do_commit  # type: ignore[method-assign]
    dialect.do_rollback = do_rollback  # type: ignore[method-assign]
