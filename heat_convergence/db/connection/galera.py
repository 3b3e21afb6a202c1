"""Settings of connections to a node of a Galera cluster.

Nodes do not see each other's row locks: two transactions conflict only if they change the same
row, and the one that commits later is aborted. Code that relies on the lock of a row asks
``is_on_galera`` and changes the row where this is true. Called by ``connection.database``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

GALERA_KEY = "heat_convergence_galera"  # of ``Connection.info``
# A transaction that is begun after a message has to see what the sender committed, maybe on
# another node: its first statement, whichever it is, waits until the node has applied it.
_WAIT_FOR_OTHERS = "SET SESSION wsrep_sync_wait = 7"


def detect_galera(engine: Engine, *, sync_wait: int | None) -> None:
    """Find out at each new connection whether its server is a node of a cluster.

    Args:
        engine: of MySQL or MariaDB.
        sync_wait: the option ``mysql_wsrep_sync_wait``, which oslo.db applies if it is set.
    """

    @event.listens_for(engine, "connect")
    def detect(dbapi_connection: Any, record: Any) -> None:
        """Remember the answer with the connection."""
        cursor = dbapi_connection.cursor()
        try:
            cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")  # nothing on a server without it
            found = cursor.fetchone()
            record.info[GALERA_KEY] = found is not None and found[1] == "ON"
            if record.info[GALERA_KEY] and sync_wait is None:
                cursor.execute(_WAIT_FOR_OTHERS)
        finally:
            cursor.close()


def is_on_galera(connection: Connection) -> bool:
    """Return whether the connection's server is a node of a Galera cluster."""
    return bool(connection.info.get(GALERA_KEY))
