"""Statements about daemons' worker processes and their heartbeats."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.tables import service

_FIELDS = ServiceRecord.__slots__


def record_heartbeat(connection: Connection, alive: ServiceRecord, now: datetime) -> None:
    """Notes that the worker lives; its first beat makes its row."""
    found = connection.execute(
        service.update().where(service.c.id == alive.id).values(updated_at=now)
    )
    if found.rowcount == 0:
        values = {name: getattr(alive, name) for name in _FIELDS}
        connection.execute(service.insert(), {**values, "updated_at": now})
