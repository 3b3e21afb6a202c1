"""Leases in memory: there is one transaction at a time, so that nothing is skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow, with_values
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.leases import LeaseRepository, UnblockedResources
from heat_convergence.testing.memory.jobs import MemoryJobRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryLeaseRepository(MemoryRepository, LeaseRepository):
    """Leases of resources in a dictionary."""

    def get_unblocked(
        self, stack_id: str, version: int, ids: Collection[str]
    ) -> UnblockedResources:
        """Return the rows of a stack that need nothing unready."""
        blocked = self._tables.find_blocked(version)
        rows = [
            row
            for row in self._tables.resources_by_id(ids)
            if row.stack_id == stack_id and row.id not in blocked
        ]
        if not rows:
            return UnblockedResources()
        counts = {
            edge.resource_id: edge.takeover_count
            for edge in self._tables.edges(version)
            if edge.takeover_count and any(edge.resource_id == row.id for row in rows)
        }
        stack = self._tables.stacks[stack_id]
        workload = MemoryJobRepository(self._tables).get_workload(stack.project_id)
        return UnblockedResources(stack, rows, counts, workload)

    def claim_unchanged(
        self, row: Resource, transition: JobTransition, columns: Mapping[str, object]
    ) -> bool:
        """Apply a transition and set further columns unless the row has changed."""
        for stored in self._tables.resources_by_id([row.id]):
            posted = {"posted_at": stored.job.posted_at, "timeline": stored.job.timeline}
            if narrow(stored) == with_values(narrow(row), posted):
                changes = {row.id: (transition, columns)}
                MemoryJobRepository(self._tables).apply_each(changes)
                return True
        return False

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, narrow, by id."""
        return [narrow(row) for row in self._tables.resources_by_id(ids)]

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Return id → current version of the rows still leased under ``token``."""
        rows = self._tables.resources_by_id(ids)
        return {row.id: row.job.version for row in rows if row.lease.token == token}
