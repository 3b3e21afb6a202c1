"""The predecessors of a resource that may hold an identity which it takes over.

Called by ``prepared_jobs`` in the claiming transaction.  A predecessor may lose properties: if
a later goal uses it again, it is updated with all of them.
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
    """Find predecessors of rows, by row id.

    One query, and none if no claimed type releases its identity.
    """
    claimants = [row for row in rows if may_take_over(row, registry)]
    by_name: dict[str, list[Resource]] = {}
    for other in (
        tx.incarnations.list_by_names(stack_id, {row.name for row in claimants})
        if claimants
        else ()
    ):
        if other.desired.state is DesiredState.ABSENT and other.physical.id is not None:
            by_name.setdefault(other.name, []).append(other)
    found = {
        row.id: [
            other
            for other in by_name.get(row.name, ())
            if other.id != row.id and other.desired.implementation == row.desired.implementation
        ]
        for row in claimants
    }
    tx.resources.update(
        {other.id for others in found.values() for other in others}, properties_hash=None
    )
    return found


def may_take_over(row: Resource, registry: ResourceTypeRegistry) -> bool:
    """Return whether a row may take over an identity that a predecessor holds."""
    return _releases_identity(row, registry) and _has_predecessors(row)


def _releases_identity(row: Resource, registry: ResourceTypeRegistry) -> bool:
    resource_type = registry.find(row.desired.implementation)
    managed = row.desired.state is DesiredState.PRESENT and external_id(row) is None
    return managed and resource_type is not None and resource_type.releases_identity


def _has_predecessors(row: Resource) -> bool:
    return row.identity.replaces is not None or row.state.action is not Action.INIT
