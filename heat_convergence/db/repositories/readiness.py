"""Readiness of resources in the database: flags of the graph's edges, read by index."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import attrgetter

import sqlalchemy as sa

from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.readiness import ReadinessRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.edge_rows import OF_IDS, UPDATE, VERSION, edge_parameters
from heat_convergence.db.statements.resource_rows import IDS, NARROW_COLUMNS, from_narrow_row
from heat_convergence.db.tables import resource, resource_graph, stack
from heat_convergence.template.environment.readiness import ReadinessLevel, levels_up_to

# Aliases made once: every new one has all of its columns built again.
_READY, _OTHER, _CAUSING = (resource_graph.alias() for _ in range(3))
_NOT_READY = resource_graph.c.observed_ready == sa.false()
_FIND_UNREADY = sa.select(resource_graph.c.resource_id).where(OF_IDS, _NOT_READY).distinct()
# One look for each stack ends at its first such edge; a wide stack has very many.
_FIND_UNREADY_STACKS = sa.select(stack.c.id).where(
    stack.c.id.in_(sa.bindparam("ids", expanding=True)),
    sa.exists().where(
        resource_graph.c.stack_id == stack.c.id,
        resource_graph.c.version == stack.c.version,
        _NOT_READY,
    ),
)
_MARK_READY = UPDATE.values(observed_ready=True)
_MARK_LEVEL = UPDATE.where(
    resource_graph.c.level.in_(sa.bindparam("levels", expanding=True)), _NOT_READY
).values(observed_ready=True)
_FIND_RELEASED = (
    sa.select(resource_graph.c.resource_id)
    .where(
        OF_IDS,
        resource_graph.c.level.is_not(None),
        resource_graph.c.needed_by.is_not(None),
        resource_graph.c.observed_ready == sa.true(),
    )
    .distinct()
)
_CAUSE = (
    sa.select(sa.func.min(_CAUSING.c.resource_id))
    .where(
        _CAUSING.c.needed_by == resource.c.id,
        _CAUSING.c.version == VERSION,
        _CAUSING.c.resource_id.in_(IDS),
    )
    .scalar_subquery()
)
_FIND_UNBLOCKED = sa.select(*NARROW_COLUMNS, _CAUSE).where(
    resource.c.id.in_(
        sa.select(_READY.c.needed_by).where(
            _READY.c.resource_id.in_(IDS),
            _READY.c.version == VERSION,
            _READY.c.needed_by.is_not(None),
        )
    ),
    resource.c.job_state == JobState.BLOCKED,
    ~sa.exists().where(
        _OTHER.c.needed_by == resource.c.id,
        _OTHER.c.version == VERSION,
        _OTHER.c.observed_ready == sa.false(),
    ),
)


class SqlReadinessRepository(SqlRepository, ReadinessRepository):
    """Readiness on a database connection."""

    def mark_ready(self, version: int, ids: Collection[str]) -> None:
        """Mark resources as observed ready."""
        if ids:
            self._connection.execute(_MARK_READY, edge_parameters(version, ids))

    def mark_level(self, version: int, ids: Collection[str], level: ReadinessLevel) -> bool:
        """Mark edges of resources ready that wait for a level up to this one."""
        if not ids:
            return False
        parameters = {**edge_parameters(version, ids), "levels": levels_up_to(level)}
        return self._connection.execute(_MARK_LEVEL, parameters).rowcount > 0

    def find_released(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` whose level, below done, has let another one start."""
        if not ids:
            return frozenset()
        return frozenset(self._connection.scalars(_FIND_RELEASED, edge_parameters(version, ids)))

    def find_unready(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are not done."""
        if not ids:
            return frozenset()
        return frozenset(self._connection.scalars(_FIND_UNREADY, edge_parameters(version, ids)))

    def find_unready_stacks(self, stack_ids: Collection[str]) -> frozenset[str]:
        """Return those of the stacks in whose traversals a resource is not observed ready."""
        if not stack_ids:
            return frozenset()
        parameters = {"ids": sorted(stack_ids)}
        return frozenset(self._connection.scalars(_FIND_UNREADY_STACKS, parameters))

    def find_with_touched_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that need something whose values changed in ``version``."""
        if not ids:
            return frozenset()
        statement = (
            sa.select(resource_graph.c.needed_by)
            .join(resource, resource.c.id == resource_graph.c.resource_id)
            .where(
                resource_graph.c.needed_by.in_(sorted(ids)),
                resource_graph.c.version == version,
                resource.c.touched_version == version,
            )
            .distinct()
        )
        return frozenset(self._connection.scalars(statement))

    def find_unblocked_by(self, version: int, ids: Collection[str]) -> list[tuple[Resource, str]]:
        """Return BLOCKED resources that need one of ``ids`` and nothing unready, narrow."""
        if not ids:
            return []
        # Sorted here: a database makes a temporary table of rows with long values to sort them.
        rows = self._connection.execute(_FIND_UNBLOCKED, edge_parameters(version, ids))
        found = sorted(rows, key=attrgetter("id"))
        return [(from_narrow_row(row[:-1]), row[-1]) for row in found]

    def find_wrongly_blocked(self, stack_id: str, version: int) -> list[str]:
        """Return ids of BLOCKED jobs that need nothing unready."""
        waits = sa.exists().where(
            resource_graph.c.needed_by == resource.c.id,
            resource_graph.c.version == version,
            _NOT_READY,
        )
        statement = sa.select(resource.c.id).where(
            resource.c.stack_id == stack_id, resource.c.job_state == JobState.BLOCKED, ~waits
        )
        return list(self._connection.scalars(statement.order_by(resource.c.id)))

    def count_reads_at_rest(self, stack_id: str) -> Mapping[ObservedState | None, int]:
        """Count the stack's resources without a job that are to be read, by observed state."""
        statement = (
            sa.select(resource.c.observed, sa.func.count())
            .where(
                resource.c.stack_id == stack_id,
                resource.c.job.is_(None),
                resource.c.observe_at.is_not(None),
            )
            .group_by(resource.c.observed)
        )
        return {row[0]: row[1] for row in self._connection.execute(statement)}
