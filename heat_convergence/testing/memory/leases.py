"""Leases in memory: there is one transaction at a time, so that nothing is skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.leases import LeaseRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryLeaseRepository(MemoryRepository, LeaseRepository):
    """Leases of resources in a dictionary."""

    def get_unblocked(
        self, stack_id: str, version: int, ids: Collection[str]
    ) -> tuple[Stack | None, list[Resource], Mapping[str, int]]:
        """Return the stack and whole rows of it that need nothing unready."""
        blocked = self._tables.find_blocked(version)
        rows = [
            row
            for row in self._tables.resources_by_id(ids)
            if row.stack_id == stack_id and row.id not in blocked
        ]
        counts = {
            edge.resource_id: edge.takeover_count
            for edge in self._tables.edges(version)
            if edge.takeover_count and any(edge.resource_id == row.id for row in rows)
        }
        return (self._tables.stacks[stack_id] if rows else None), rows, counts

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, narrow, by id."""
        return [narrow(row) for row in self._tables.resources_by_id(ids)]

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Return id → current version of the rows still leased under ``token``."""
        rows = self._tables.resources_by_id(ids)
        return {row.id: row.job.version for row in rows if row.lease.token == token}
