"""The resource graph in the database.

Written under the lock of the stack alone, so that no two transactions change edges that
the other one is reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import sqlalchemy as sa

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.graph import GraphRepository
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.edge_rows import OF_IDS, UPDATE, edge_parameters
from heat_convergence.db.statements.inserts import insert_into, insert_rows
from heat_convergence.db.statements.resource_rows import IDS, NARROW_COLUMNS, select_narrow_rows
from heat_convergence.db.tables import physical_dependency, resource, resource_graph

_CHUNK = 2000
_GET_RETRY_COUNTS = (
    sa.select(resource_graph.c.resource_id, sa.func.max(resource_graph.c.retry_count))
    .where(OF_IDS)
    .group_by(resource_graph.c.resource_id)
)
_INCREMENT_RETRY_COUNTS = UPDATE.values(retry_count=resource_graph.c.retry_count + 1)
_GET_TAKEOVER_COUNTS = (
    sa.select(resource_graph.c.resource_id, sa.func.max(resource_graph.c.takeover_count))
    .where(OF_IDS)
    .group_by(resource_graph.c.resource_id)
)
_INCREMENT_TAKEOVER_COUNTS = UPDATE.values(takeover_count=resource_graph.c.takeover_count + 1)
_FIND_DEPENDENTS = (
    sa.select(*NARROW_COLUMNS)
    .where(
        resource.c.id.in_(
            sa.select(physical_dependency.c.dependent_id).where(
                physical_dependency.c.stack_id == sa.bindparam("stack"),
                physical_dependency.c.dependency_id.in_(IDS),
            )
        ),
        resource.c.job.is_not(None),
    )
    .order_by(resource.c.id)
)


class SqlGraphRepository(SqlRepository, GraphRepository):
    """Edges and physical dependencies on a database connection."""

    def clear(self, stack_id: str) -> None:
        """Delete all edges and physical dependencies of the stack."""
        for table in (resource_graph, physical_dependency):
            self._connection.execute(safe_delete(table).where(table.c.stack_id == stack_id))

    def clear_part(self, stack_id: str, replaced: Collection[str]) -> bool:
        """Delete the edges by which some resources need others; return whether any are left."""
        of_dependencies = physical_dependency.c.stack_id == stack_id
        self._connection.execute(safe_delete(physical_dependency).where(of_dependencies))
        of_stack, ids = resource_graph.c.stack_id == stack_id, sorted(replaced)
        for at in range(0, len(ids), _CHUNK):
            some = ids[at : at + _CHUNK]
            last = sa.and_(
                resource_graph.c.resource_id.in_(some), resource_graph.c.needed_by.is_(None)
            )
            for ends in (resource_graph.c.needed_by.in_(some), last):
                self._connection.execute(safe_delete(resource_graph).where(of_stack, ends))
        rest = sa.select(sa.literal(1)).where(of_stack).limit(1)
        return self._connection.execute(rest).first() is not None

    def add_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Insert edges, a chunk at a time."""
        self._insert((stack_id, version, edge) for edge in edges)

    def add_first_edges(self, edges: Mapping[str, Iterable[Edge]]) -> None:
        """Insert the edges of new stacks, a chunk at a time."""
        self._insert((stack_id, 1, edge) for stack_id, some in edges.items() for edge in some)

    def _insert(self, edges: Iterable[tuple[str, int, Edge]]) -> None:
        left = iter(edges)
        while rows := [_edge_columns(*each) for each in islice(left, _CHUNK)]:
            insert_rows(self._connection, resource_graph, rows)

    def get_edges_at(self, stack_id: str, ids: Collection[str]) -> list[Edge]:
        """Return the edges, of any version, that have any of the resources at either end."""
        ends = sorted(ids)
        statement = sa.select(
            resource_graph.c.resource_id,
            resource_graph.c.needed_by,
            resource_graph.c.observed_ready,
            sa.literal(0),
            resource_graph.c.level,
        ).where(
            resource_graph.c.stack_id == stack_id,
            sa.or_(resource_graph.c.resource_id.in_(ends), resource_graph.c.needed_by.in_(ends)),
        )
        return [Edge(*row) for row in self._connection.execute(statement)]

    def get_unready_edges(self, stack_id: str, version: int) -> list[Edge]:
        """Return the edges at which a resource still waits for another."""
        statement = sa.select(resource_graph.c.resource_id, resource_graph.c.needed_by).where(
            resource_graph.c.stack_id == stack_id,
            resource_graph.c.version == version,
            resource_graph.c.needed_by.is_not(None),
            resource_graph.c.observed_ready == sa.false(),
        )
        return [Edge(*row) for row in self._connection.execute(statement)]

    def delete_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        """Delete edges by their two ends; NULL ends need a statement of their own."""
        rows = [{"need": edge.resource_id, "then": edge.needed_by} for edge in edges]
        inner = [row for row in rows if row["then"] is not None]
        ends = [row["need"] for row in rows if row["then"] is None]
        this = sa.and_(resource_graph.c.stack_id == stack_id, resource_graph.c.version == version)
        if inner:
            self._connection.execute(
                safe_delete(resource_graph).where(
                    this,
                    resource_graph.c.resource_id == sa.bindparam("need"),
                    resource_graph.c.needed_by == sa.bindparam("then"),
                ),
                inner,
            )
        if ends:
            self._connection.execute(
                safe_delete(resource_graph).where(
                    this,
                    resource_graph.c.resource_id.in_(ends),
                    resource_graph.c.needed_by.is_(None),
                )
            )

    def get_retry_counts(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Return failed tries in this traversal, by resource id."""
        if not ids:
            return {}
        rows = self._connection.execute(_GET_RETRY_COUNTS, edge_parameters(version, ids))
        return {row[0]: row[1] for row in rows}

    def increment_retry_counts(self, version: int, ids: Collection[str]) -> None:
        """Count one more failed try of each of the resources."""
        if ids:
            self._connection.execute(_INCREMENT_RETRY_COUNTS, edge_parameters(version, ids))

    def count_takeovers(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        """Count one more worker that ended, and return the numbers by resource id."""
        if not ids:
            return {}
        parameters = edge_parameters(version, ids)
        self._connection.execute(_INCREMENT_TAKEOVER_COUNTS, parameters)
        rows = self._connection.execute(_GET_TAKEOVER_COUNTS, parameters)
        return {row[0]: row[1] for row in rows}

    def add_physical_dependencies(self, stack_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Insert physical dependencies of rows with a job, in the order of the keys."""
        rows = [
            {"stack_id": stack_id, "dependency_id": used, "dependent_id": dependent}
            for used, dependent in sorted((used, dependent) for dependent, used in pairs)
        ]
        for at in range(0, len(rows), _CHUNK):
            self._connection.execute(insert_into(physical_dependency), rows[at : at + _CHUNK])

    def find_physical_dependents(self, stack_id: str, ids: Collection[str]) -> list[Resource]:
        """Return the rows with a job that may use any of the resources, narrow, by id."""
        if not ids:
            return []
        return select_narrow_rows(
            self._connection, _FIND_DEPENDENTS, stack=stack_id, ids=sorted(ids)
        )


def _edge_columns(stack_id: str, version: int, edge: Edge) -> dict[str, Any]:
    return {
        "resource_id": edge.resource_id,
        "needed_by": edge.needed_by,
        "stack_id": stack_id,
        "version": version,
        "observed_ready": edge.observed_ready,
        "retry_count": edge.retry_count,
        "level": edge.level,
    }
