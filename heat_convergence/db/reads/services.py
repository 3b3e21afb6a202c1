"""Reads of the daemons' worker processes.

Called by the API alone; one statement.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.tables import service


def list_services(conn: Connection) -> list[ServiceRecord]:
    """Return worker processes that are not deleted, the oldest first."""
    query = sa.select(service).where(service.c.deleted_at.is_(None)).order_by(service.c.id)
    return [ServiceRecord(**row._mapping) for row in conn.execute(query)]
