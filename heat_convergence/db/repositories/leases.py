"""Leases of workers on resources in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.leases import LeaseRepository, UnblockedResources
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import stack_rows
from heat_convergence.db.statements.resource_rows import (
    COLUMNS,
    NARROW_COLUMNS,
    for_update,
    for_update_skip_locked,
    from_rows,
    select_by_ids,
    select_narrow_rows,
)
from heat_convergence.db.statements.resource_updates import (
    LEASE_TOKEN,
    apply_unchanged_transition,
)
from heat_convergence.db.tables import resource, resource_graph
from heat_convergence.db.tables import stack as stack_table

_TAKEOVER_COUNT = (
    sa.select(sa.func.max(resource_graph.c.takeover_count))
    .where(
        resource_graph.c.resource_id == resource.c.id,
        resource_graph.c.version == stack_table.c.version,
    )
    .scalar_subquery()
)
_OTHER, _OWN = resource.alias(), stack_table.alias()
# It does not depend on the row beside which it stands, so that it is looked for once.
_HAS_SCHEDULABLE = (
    sa.exists()
    .select_from(_OWN.join(_OTHER, _OTHER.c.project_id == _OWN.c.project_id))
    .where(_OWN.c.id == sa.bindparam("stack"), _OTHER.c.job_state == JobState.SCHEDULABLE)
)
_GET_UNBLOCKED = (
    select_by_ids([*COLUMNS, *stack_rows.COLUMNS, _HAS_SCHEDULABLE, _TAKEOVER_COUNT])
    .join(stack_table, stack_table.c.id == resource.c.stack_id)
    .where(
        stack_table.c.id.in_(sa.bindparam("stacks", expanding=True)),
        ~sa.exists().where(
            resource_graph.c.needed_by == resource.c.id,
            resource_graph.c.version == stack_table.c.version,
            resource_graph.c.observed_ready == sa.false(),
        ),
    )
)
_LOCK_CLAIMABLE = for_update_skip_locked(select_by_ids(NARROW_COLUMNS))
_LOCK_HELD = for_update(select_by_ids([resource.c.id, resource.c.version]).where(LEASE_TOKEN))


class SqlLeaseRepository(SqlRepository, LeaseRepository):
    """Leases on a database connection."""

    def get_unblocked(self, ids: Mapping[str, Collection[str]]) -> UnblockedResources:
        """Return rows that need nothing unready, without locks."""
        every_id, stacks = sorted(set().union(*ids.values())), sorted(ids)
        if not every_id:
            return UnblockedResources()
        parameters = {"ids": every_id, "stacks": stacks, "stack": stacks[0]}
        found = self._connection.execute(_GET_UNBLOCKED, parameters).all()
        if not found:
            return UnblockedResources()
        width = len(COLUMNS)
        rows = from_rows(self._connection, [row[:width] for row in found])
        stack_values = {
            row.stack_id: each[width:-2] for row, each in zip(rows, found, strict=True)
        }
        return UnblockedResources(
            {stack_id: stack_rows.from_row(each) for stack_id, each in stack_values.items()},
            rows,
            {row.id: each[-1] for row, each in zip(rows, found, strict=True) if each[-1]},
            bool(found[0][-2]),
        )

    def claim_unchanged(
        self, row: Resource, transition: JobTransition, columns: Mapping[str, object]
    ) -> bool:
        """Apply a transition and set further columns unless the row has changed."""
        return apply_unchanged_transition(self._connection, row, transition, columns)

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return narrow rows, skipping those locked by another transaction."""
        if not ids:
            return []
        return select_narrow_rows(self._connection, _LOCK_CLAIMABLE, ids=sorted(ids))

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
        found = self._connection.execute(_LOCK_HELD, {"ids": sorted(ids), "token": token})
        return {row.id: row.version for row in found}
