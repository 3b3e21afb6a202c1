"""The properties that an update of a resource sets, also those that it sets again.

Called by engines for a job, and by previews for the job that an update would have.  Decides
which names count as changed; must not evaluate or call anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.resources.protocol.resource_type import ResourceType

Json = Any


def repeated_property_names(
    row: Resource,
    resource_type: ResourceType,
    after: Mapping[str, Json],
    read_metadata: Callable[[], Mapping[str, Json]],
    *,
    updating: bool,
) -> frozenset[str]:
    """Return the properties to set although they may be equal.

    Args:
        row: the resource with its new definition.
        resource_type: its type.
        after: the desired properties.
        read_metadata: returns the metadata of the new definition.
        updating: the stack is updated.
    """
    names: frozenset[str] = frozenset()
    if row.physical.properties_hash is None:
        # An earlier update may have happened or not: everything is set again.
        both = (row.physical.properties or {}).keys() | after.keys()
        names |= {name for name in both if resource_type.schema.update_allowed(name)}
    if row.physical.applied_hash != row.desired.definition_hash:
        if resource_type.stack_source_property is not None:
            # The stack's files or environment may have changed.
            names |= {resource_type.stack_source_property}
        names |= resource_type.outdated_by_metadata(row.physical.data, read_metadata)
    if updating:
        names |= resource_type.repeated_properties(after)
    return names
