"""Reports of worker processes in the database, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from heat_convergence.convergence.model.job import JobRef
from heat_convergence.convergence.model.job_transitions import end_lease, extend_lease
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.ports.store import WorkerRepository
from heat_convergence.db.connection.database import Database
from heat_convergence.db.repositories.jobs import SqlJobRepository
from heat_convergence.db.statements.resource_rows import lock_matching
from heat_convergence.db.statements.resource_updates import update_rows
from heat_convergence.db.tables import resource
from heat_convergence.db.tables import service as service_table

_FIELDS = ServiceRecord.__slots__


class SqlWorkerRepository(WorkerRepository):
    """Reports of worker processes over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        """Extend the owner's leases of these tokens; return the number of rows."""
        own = sa.and_(resource.c.lease_owner == owner, resource.c.lease_token.in_(tokens))
        with self._database.write() as connection:
            candidates = list(connection.scalars(sa.select(resource.c.id).where(own)))
            ids = [row.id for row in lock_matching(connection, candidates, own)]
            update_rows(connection, ids, extend_lease(until).values)
        return len(ids)

    def take_jobs_of_ended(
        self, owners: Collection[str], now: datetime, limit: int
    ) -> list[JobRef]:
        """End leases of workers whose processes have ended, and take their jobs."""
        leased = sa.and_(
            resource.c.lease_owner.in_(sorted(owners)), resource.c.lease_expires_at > now
        )
        candidates = sa.select(resource.c.id).where(leased).order_by(resource.c.id).limit(limit)
        with self._database.write() as connection:
            rows = lock_matching(connection, list(connection.scalars(candidates)), leased)
            ids = [row.id for row in rows]
            update_rows(connection, ids, end_lease(now).values)
            SqlJobRepository(connection).repost(ids, now)
        return [JobRef(row.stack_id, row.version, row.id) for row in rows]

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        """Record that the worker process was alive; its first heartbeat inserts its row."""
        with self._database.write() as connection:
            alive = service_table.update().where(service_table.c.id == service.id)
            reported = {"updated_at": now, "endpoint_states": service.endpoint_states}
            found = connection.execute(alive.values(reported))
            if found.rowcount == 0:
                values = {name: getattr(service, name) for name in _FIELDS}
                connection.execute(service_table.insert(), {**values, "updated_at": now})

    def remove_worker(self, worker_id: str) -> None:
        """Remove the record of a worker process that ends orderly."""
        with self._database.write() as connection:
            connection.execute(service_table.delete().where(service_table.c.id == worker_id))
