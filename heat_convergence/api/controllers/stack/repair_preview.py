"""The dry run of a repair: what it would do, from what the watch has recorded.

Called by ``stack_actions``.  Asks no other service and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heat_convergence.api.controllers.stack.repair import StackRepair, ancestor_finder
from heat_convergence.api.services import ApiServices
from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.drift.repair_preview import (
    PreviewedRepair,
    RepairableResource,
    TypeTraits,
    preview_repairs,
)
from heat_convergence.db.drift import repairable_resources
from heat_convergence.db.reads import stacks
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.resources.registry import ResourceTypeRegistry


def preview(
    conn: Any,
    services: ApiServices,
    repair: StackRepair,
    requested: tuple[str, ...] | None,
) -> list[PreviewedRepair]:
    """Return what a repair would do.

    Args:
        conn: the connection.
        services: the services of the API.
        repair: the repair.
        requested: names of the resources that the user has named; None for all that drifted.
    """
    stack, max_depth = repair.stack, services.options.max_nested_stack_depth
    locate = ancestor_finder(conn, stack, max_depth)
    tree = [each.id for each, _depth in stacks.get_tree(conn, stack.id, max_depth)]
    observed: list[RepairableResource] = []
    others: list[RepairableResource] = []
    for each in repairable_resources.list_by_stacks(conn, {stack.id, *tree}):
        is_named = requested is not None and each.stack_id == stack.id
        concerned = locate(each.stack_id, each.name) in repair.names
        is_observed = concerned and (is_named or each.status in DRIFTED)
        (observed if is_observed else others).append(each)
    return preview_repairs(observed, others, lambda name: _traits(services.registry, name))


def preview_all(
    registry: ResourceTypeRegistry, resources: Iterable[RepairableResource]
) -> list[PreviewedRepair]:
    """Return what an update that observes all these resources would restore."""
    return preview_repairs(resources, (), lambda name: _traits(registry, name))


def _traits(registry: ResourceTypeRegistry, implementation: str) -> TypeTraits:
    resource_type = registry.find(implementation)
    if resource_type is None:
        return TypeTraits()
    if not isinstance(resource_type, Watchable):
        return TypeTraits(resource_type.restored_in_place)
    return TypeTraits(resource_type.restored_in_place, resource_type.restorable_properties)
