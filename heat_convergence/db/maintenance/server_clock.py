"""The clock of the database server, which all daemons see.

Called by ``doctor``, which compares it with this host's clock.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from heat_convergence.db.connection.database import Database

_SECONDS = {
    "mysql": "SELECT UNIX_TIMESTAMP(SYSDATE(6))",
    "postgresql": "SELECT EXTRACT(EPOCH FROM clock_timestamp())",
}


def read_server_time(database: Database) -> datetime | None:
    """Return the time of the database server; None if it has no clock of its own."""
    statement = _SECONDS.get(database.dialect)
    if statement is None:
        return None
    with database.read() as connection:
        return datetime.fromtimestamp(float(connection.scalar(sa.text(statement))), UTC)
