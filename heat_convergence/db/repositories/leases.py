"""Leases of workers on resources in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.leases import LeaseRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.resource_rows import (
    COLUMNS,
    LEASE_TOKEN,
    for_update,
    for_update_skip_locked,
    select_by_ids,
    select_rows,
)
from heat_convergence.db.tables import resource

_LOCK_CLAIMABLE = for_update_skip_locked(select_by_ids(COLUMNS))
_LOCK_HELD = for_update(select_by_ids([resource.c.id, resource.c.version]).where(LEASE_TOKEN))


class SqlLeaseRepository(SqlRepository, LeaseRepository):
    """Leases on a database connection."""

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return whole rows, skipping those locked by another transaction."""
        return select_rows(self._connection, _LOCK_CLAIMABLE, ids=sorted(ids)) if ids else []

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
        found = self._connection.execute(_LOCK_HELD, {"ids": sorted(ids), "token": token})
        return {row.id: row.version for row in found}
