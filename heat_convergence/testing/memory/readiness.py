"""Readiness of resources in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow
from heat_convergence.convergence.ports.readiness import ReadinessRepository
from heat_convergence.template.environment.readiness import ReadinessLevel, levels_up_to
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryReadinessRepository(MemoryRepository, ReadinessRepository):
    """Readiness flags of edges in a dictionary."""

    def mark_ready(self, version: int, ids: Collection[str]) -> None:
        """Mark resources as observed ready."""
        for row in self._tables.edges(version):
            if row.resource_id in ids:
                self._tables.graph[row.key] = replace(row, observed_ready=True)

    def mark_level(self, version: int, ids: Collection[str], level: ReadinessLevel) -> bool:
        """Mark edges of resources ready that wait for a level up to this one."""
        reached = levels_up_to(level)
        released = [
            row
            for row in self._tables.edges(version)
            if row.resource_id in ids and row.level in reached and not row.observed_ready
        ]
        for row in released:
            self._tables.graph[row.key] = replace(row, observed_ready=True)
        return bool(released)

    def find_released(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` whose level, below done, has let another one start."""
        return frozenset(
            row.resource_id
            for row in self._tables.edges(version)
            if row.resource_id in ids
            and row.observed_ready
            and row.level is not None
            and row.needed_by is not None
        )

    def find_unready(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are not done."""
        return frozenset(
            row.resource_id
            for row in self._tables.edges(version)
            if row.resource_id in ids and not row.observed_ready
        )

    def find_unready_stacks(self, stack_ids: Collection[str]) -> frozenset[str]:
        """Return those of the stacks in whose traversals a resource is not observed ready."""
        stacks = {key: stack for key in stack_ids if (stack := self._tables.stacks.get(key))}
        return frozenset(
            row.stack_id
            for row in self._tables.graph.values()
            if row.stack_id in stacks
            and row.version == stacks[row.stack_id].version
            and not row.observed_ready
        )

    def find_with_touched_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that need something whose values changed in ``version``."""
        return frozenset(
            row.needed_by
            for row in self._tables.edges(version)
            if row.needed_by is not None
            and row.needed_by in ids
            and self._tables.resources[row.resource_id].job.touched_version == version
        )

    def find_unblocked_by(self, version: int, ids: Collection[str]) -> list[tuple[Resource, str]]:
        """Return BLOCKED resources that need one of ``ids`` and nothing unready, narrow."""
        dependents: dict[str, str] = {}
        for edge in sorted(self._tables.edges(version), key=lambda edge: edge.resource_id):
            if edge.resource_id in ids and edge.needed_by is not None:
                dependents.setdefault(edge.needed_by, edge.resource_id)
        waiting = self._tables.find_blocked(version)
        return [
            (narrow(row), dependents[row.id])
            for row in self._tables.resources_by_id(dependents)
            if row.job.state is JobState.BLOCKED and row.id not in waiting
        ]

    def find_wrongly_blocked(self, stack_id: str, version: int) -> list[str]:
        """Return ids of BLOCKED jobs that need nothing unready."""
        rows = self._tables.resources_of_stack(stack_id)
        blocked = [row.id for row in rows if row.job.state is JobState.BLOCKED]
        waiting = self._tables.find_blocked(version)
        return [row_id for row_id in blocked if row_id not in waiting]

    def count_reads_at_rest(self, stack_id: str) -> Mapping[ObservedState | None, int]:
        """Count the stack's resources without a job that are to be read, by observed state."""
        return Counter(
            row.observation.state
            for row in self._tables.resources_of_stack(stack_id)
            if row.job.verb is None and row.observation.observe_at is not None
        )
