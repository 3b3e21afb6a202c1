"""Resources that a new stack adopts from the document of an abandoned one.

Called for root stacks by the API and for nested stacks by engines.  Decides which entries count
and what of them; must not read the cloud.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    is_stack_entry,
    is_suspended_entry,
)
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import ADOPTED_STACK
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.first_plan import AdoptedResource
from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.reference_scope import adopted_physical_id
from heat_convergence.resources.registry import ResourceTypeRegistry


def adopted_resources(
    entries: Mapping[str, Json] | None,
    desired_resources: Mapping[str, DesiredResource],
    registry: ResourceTypeRegistry,
) -> dict[str, AdoptedResource] | None:
    """Return what is adopted, by resource name, of those entries that the template has.

    None for no entries: the stack adopts nothing and creates its resources.
    """
    if entries is None:
        return None
    return {
        name: _adopted_resource(entry, desired_resources[name].implementation, registry)
        for name, entry in entries.items()
        if name in desired_resources
    }


def _adopted_resource(
    entry: Mapping[str, Json], implementation: str, registry: ResourceTypeRegistry
) -> AdoptedResource:
    """Return what a resource adopts; it is encrypted where its type has secret data."""
    suspended = is_suspended_entry(entry)
    if is_stack_entry(entry):
        return AdoptedResource(None, {ADOPTED_STACK: entry}, True, suspended)
    resource_type = registry.find(implementation)
    physical_id = adopted_physical_id(
        entry.get("resource_id") or None, is_nested=isinstance(resource_type, NestedType)
    )
    sensitive = resource_type is not None and bool(resource_type.secret_data)
    return AdoptedResource(physical_id, entry.get("resource_data") or {}, sensitive, suspended)
