"""Other incarnations of what is about to be made or changed, that may hold what it wants.

Decides which rows those are.  Called by ``engine`` in the claiming transaction.  What is
taken from one of them it lacks from then on: should a later goal take it up again, it is
given all of its properties anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.step_selection import external_id
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.registry import ResourceTypeRegistry


def find_predecessors(
    tx: Transaction, stack_id: str, rows: Sequence[Resource], registry: ResourceTypeRegistry
) -> Mapping[str, Sequence[Resource]]:
    """Row id → rows.  One query, and none where no claimed type lets go."""
    letting = [row for row in rows if _lets_go(row, registry) and _had_others(row)]
    by_name: dict[str, list[Resource]] = {}
    for other in (
        tx.incarnations.list_by_names(stack_id, {row.name for row in letting}) if letting else ()
    ):
        if other.desired is DesiredState.ABSENT and other.physical_id is not None:
            by_name.setdefault(other.name, []).append(other)
    found = {
        row.id: [
            other
            for other in by_name.get(row.name, ())
            if other.id != row.id and other.implementation == row.implementation
        ]
        for row in letting
    }
    tx.resources.update(
        {other.id for others in found.values() for other in others}, properties_hash=None
    )
    return found


def _lets_go(row: Resource, registry: ResourceTypeRegistry) -> bool:
    kind = registry.find(row.implementation)
    wanted = row.desired is DesiredState.PRESENT and external_id(row) is None
    return wanted and kind is not None and kind.releases_identity


def _had_others(row: Resource) -> bool:
    return row.replaces is not None or row.action is not Action.INIT
