"""Leases in memory: there is one transaction at a time, so that nothing is skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.leases import LeaseRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryLeaseRepository(MemoryRepository, LeaseRepository):
    """Leases of resources in a dictionary."""

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, whole, by id."""
        return self._tables.resources_by_id(ids)

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Return id → current version of the rows still leased under ``token``."""
        rows = self._tables.resources_by_id(ids)
        return {row.id: row.job.version for row in rows if row.lease.token == token}
