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

    def get_unblocked(self, ids: Mapping[str, Collection[str]]) -> UnblockedResources:
        """Return rows that need nothing unready in the traversals of their stacks."""
        stacks = {key: self._tables.stacks[key] for key in ids if key in self._tables.stacks}
        versions = {stack.version for stack in stacks.values()}
        blocked = {version: self._tables.find_blocked(version) for version in versions}
        rows = [
            row
            for row in self._tables.resources_by_id(set().union(*ids.values()))
            if row.stack_id in stacks and row.id not in blocked[stacks[row.stack_id].version]
        ]
        if not rows:
            return UnblockedResources()
        found = {row.stack_id: stacks[row.stack_id] for row in rows}
        in_version = {row.id: stacks[row.stack_id].version for row in rows}
        counts = {
            edge.resource_id: edge.takeover_count
            for version in versions
            for edge in self._tables.edges(version)
            if edge.takeover_count and in_version.get(edge.resource_id) == version
        }
        project_id = stacks[min(stacks)].project_id
        load = MemoryJobRepository(self._tables).get_workload(project_id)
        return UnblockedResources(found, rows, counts, load.has_schedulable)

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
