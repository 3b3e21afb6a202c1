"""Reads of the daemons' worker processes.

Called by the API alone; one statement.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import service


def list_services(conn: Connection) -> list[ServiceRecord]:
    """Return worker processes that are not deleted, the oldest first."""
    query = sa.select(service).where(service.c.deleted_at.is_(None)).order_by(service.c.id)
    return read_each(conn.execute(query), _from_row)


def _from_row(row: Row[Any]) -> ServiceRecord:
    checked = check_row("service", row._fields, row)
    return ServiceRecord(**dict(zip(row._fields, checked, strict=True)))
