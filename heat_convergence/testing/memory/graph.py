"""The resource graph in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow
from heat_convergence.convergence.ports.graph import GraphRepository
from heat_convergence.testing.memory.tables import GraphRow, MemoryRepository


class MemoryGraphRepository(MemoryRepository, GraphRepository):
    """Edges and physical dependencies in dictionaries."""

    def clear(self, stack_id: str) -> None:
        """Delete all edges and physical dependencies of the stack."""
        self._tables.keep_edges(lambda row: row.stack_id != stack_id)
        self._clear_physical_dependencies(stack_id)

    def _clear_physical_dependencies(self, stack_id: str) -> None:
        for key in [key for key in self._tables.physical_dependencies if key[0] == stack_id]:
            del self._tables.physical_dependencies[key]

    def clear_part(self, stack_id: str, replaced: Collection[str]) -> bool:
        """Delete the edges by which some resources need others; return whether any are left."""
        self._tables.keep_edges(
            lambda row: (
                row.stack_id != stack_id
                or (row.resource_id if row.needed_by is None else row.needed_by) not in replaced
            )
        )
        self._clear_physical_dependencies(stack_id)
        return any(row.stack_id == stack_id for row in self._tables.edges())

    def add_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Insert edges between existing resources, none of them twice."""
        for edge in edges:
            row = GraphRow(
                stack_id,
                version,
                edge.resource_id,
                edge.needed_by,
                edge.observed_ready,
                edge.retry_count,
                level=edge.level,
            )
            ends = {edge.resource_id, edge.needed_by} - {None}
            if row.key in self._tables.graph or not ends <= self._tables.resources.keys():
                raise ValueError(f"edge {row.key} exists already, or an end of it does not")
            self._tables.graph[row.key] = row

    def add_first_edges(self, edges: Mapping[str, Iterable[Edge]]) -> None:
        """Insert the edges of new stacks, none of them twice."""
        for stack_id, some in edges.items():
            self.add_edges(stack_id, 1, some)

    def get_edges_at(self, stack_id: str, ids: Collection[str]) -> list[Edge]:
        """Return the edges, of any version, that have any of the resources at either end."""
        return [
            Edge(row.resource_id, row.needed_by, row.observed_ready, level=row.level)
            for row in self._tables.edges()
            if row.stack_id == stack_id and (row.resource_id in ids or row.needed_by in ids)
        ]

    def get_unready_edges(self, stack_id: str, version: int) -> list[Edge]:
        """Return the edges at which a resource still waits for another."""
        return [
            Edge(row.resource_id, row.needed_by)
            for row in self._tables.edges(version)
            if row.stack_id == stack_id and row.needed_by is not None and not row.observed_ready
        ]

    def delete_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Delete edges by their two ends."""
        keys = {(version, edge.resource_id, edge.needed_by) for edge in edges}
        self._tables.keep_edges(lambda row: row.stack_id != stack_id or row.key not in keys)

    def get_retry_counts(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Return failed tries in this traversal, by resource id."""
        counts: dict[str, int] = {}
        for row in self._tables.edges(version):
            if row.resource_id in ids:
                counts[row.resource_id] = max(row.retry_count, counts.get(row.resource_id, 0))
        return counts

    def increment_retry_counts(self, version: int, ids: Collection[str]) -> None:
        """Count one more failed try of each of the resources."""
        for row in self._tables.edges(version):
            if row.resource_id in ids:
                self._tables.graph[row.key] = replace(row, retry_count=row.retry_count + 1)

    def count_takeovers(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Count one more worker that ended, and return the numbers by resource id."""
        counts: dict[str, int] = {}
        for row in self._tables.edges(version):
            if row.resource_id in ids:
                counts[row.resource_id] = row.takeover_count + 1
                self._tables.graph[row.key] = replace(row, takeover_count=row.takeover_count + 1)
        return counts

    def add_physical_dependencies(self, stack_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Insert physical dependencies, none of them twice."""
        for dependent, used in pairs:
            key = (stack_id, used, dependent)
            if key in self._tables.physical_dependencies:
                raise ValueError(f"physical dependency {key} is not unique")
            self._tables.physical_dependencies[key] = None

    def find_physical_dependents(self, stack_id: str, ids: Collection[str]) -> list[Resource]:
        """Return the rows with a job that may use any of the resources, narrow, by id."""
        known = self._tables.physical_dependencies
        found = {key[2] for key in known if key[0] == stack_id and key[1] in ids}
        rows = self._tables.resources_of_stack(stack_id)
        return [narrow(row) for row in rows if row.job.verb is not None and row.id in found]
