"""The daemons' worker processes that have reported.

Called by the API alone; one statement.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import Service
from heat_convergence.db.tables import service


def listing(conn: Connection) -> list[Service]:
    """Those that were not taken off the list, oldest first."""
    query = sa.select(service).where(service.c.deleted_at.is_(None)).order_by(service.c.id)
    return [Service(**row._mapping) for row in conn.execute(query)]
