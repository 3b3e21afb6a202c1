"""The port to the resource graph of a traversal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import Resource


class GraphRepository(Protocol):
    """Edges between resources, their retry counts, and physical dependencies.

    A physical dependency says that the physical resource of one row may still use that
    of another, whatever their definitions say.
    """

    def clear(self, stack_id: str) -> None:
        """Delete all edges and physical dependencies of the stack."""

    def clear_part(self, stack_id: str, replaced: Collection[str]) -> bool:
        """Delete the edges by which some resources need others, and all physical dependencies.

        The other edges stay as they are. They are ready, and have the version of the traversal
        that wrote them; only rows with a job have physical dependencies.

        Args:
            stack_id: a stack that has reached its goal.
            replaced: ids of resources whose requirements are to be inserted anew.

        Returns:
            Whether any edges are left.
        """

    def add_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Insert edges, none of them twice."""

    def add_first_edges(self, edges: Mapping[str, Iterable[Edge]]) -> None:
        """Insert the edges of new stacks, by the stacks' ids, none of them twice."""

    def get_edges_at(self, stack_id: str, ids: Collection[str]) -> list[Edge]:
        """Return the edges, of any version, that have any of the resources at either end."""

    def get_unready_edges(self, stack_id: str, version: int) -> list[Edge]:
        """Return the edges at which a resource still waits for another."""

    def delete_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Delete edges by their two ends."""

    def get_retry_counts(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Return failed tries in this traversal, by resource id."""

    def increment_retry_counts(self, version: int, ids: Collection[str]) -> None:
        """Count one more failed try of each of the resources."""

    def count_takeovers(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Count one more worker that ended while it ran the jobs.

        Returns:
            The numbers of such workers in this traversal, by resource id.
        """

    def add_physical_dependencies(self, stack_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Insert physical dependencies of rows with a job.

        Args:
            stack_id: the stack of all of the rows.
            pairs: (id of the dependent, id of the one that it may use), none twice.
        """

    def find_physical_dependents(self, stack_id: str, ids: Collection[str]) -> list[Resource]:
        """Return the rows with a job that may use any of the resources, narrow, by id."""
