"""Fewer round trips to the server for each transaction.

A transaction costs three round trips beside its statements: a ping before it, the
commit, and a rollback when its connection returns to the pool.  Here the ping is left
out if the connection was used a moment ago, and the rollback if it has committed.
Called by ``connection.database`` for a new engine; must not change what a transaction
means.
"""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import event
from sqlalchemy.engine import Engine

# How long a connection may be idle in the pool and still be used without a ping.  If it
# was closed meanwhile, its transaction fails as one that is interrupted does.
PING_AFTER_IDLE_S = 1.0


def reduce_roundtrips(engine: Engine) -> None:
    """Leave out needless pings and rollbacks of the engine's connections."""
    _reduce_pings(engine)
    if engine.dialect.name in ("mysql", "mariadb"):  # psycopg2 does so itself
        _reduce_rollbacks(engine)


def _reduce_pings(engine: Engine) -> None:
    ping = engine.dialect.do_ping
    used_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    @event.listens_for(engine, "checkin")
    def note_use(dbapi_connection: Any, record: Any) -> None:
        """Record when the connection was last used."""
        if dbapi_connection is not None:
            used_at[dbapi_connection] = time.monotonic()

    def ping_if_idle(dbapi_connection: Any) -> bool:
        """Return whether the connection is alive, without a ping if it was used just now."""
        since = used_at.get(dbapi_connection)
        fresh = since is not None and time.monotonic() - since < PING_AFTER_IDLE_S
        return fresh or bool(ping(dbapi_connection))

    engine.dialect.do_ping = ping_if_idle  # type: ignore[method-assign]


def _reduce_rollbacks(engine: Engine) -> None:
    """Leave out rollbacks between a commit and the next begin.

    At other times the client cannot know whether there is something to roll back: a
    failed statement may have begun a transaction.
    """
    dialect = engine.dialect
    begin, commit, rollback = dialect.do_begin, dialect.do_commit, dialect.do_rollback

    committed: WeakSet[Any] = WeakSet()

    def do_begin(connection: Any) -> None:
        """Begin, after which a rollback is needed."""
        committed.discard(connection.dbapi_connection)
        begin(connection)

    def do_commit(connection: Any) -> None:
        """Commit, after which no rollback is needed."""
        commit(connection)
        committed.add(connection.dbapi_connection)

    def do_rollback(connection: Any) -> None:
        """Roll back unless the connection has just committed."""
        if connection.dbapi_connection in committed:
            committed.discard(connection.dbapi_connection)
        else:
            rollback(connection)

    dialect.do_begin = do_begin  # type: ignore[method-assign,assignment]
    dialect.do_commit = do_commit  # type: ignore[method-assign,assignment]
    dialect.do_rollback = do_rollback  # type: ignore[method-assign,assignment]
