"""Propagation of sensitivity to resources that read sensitive values of others.

Called by ``stacks`` when definitions become desired resources.  It happens before
anything is stored: a value that was stored in clear once cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from heat_convergence.common.values.packed_map import pack_if_large
from heat_convergence.convergence.planning.desired_state import DesiredResource


def propagate_sensitivity(
    desired_resources: Mapping[str, DesiredResource], secret_sources: Collection[str] = ()
) -> Mapping[str, DesiredResource]:
    """Mark all resources sensitive that read sensitive values, directly or not.

    Args:
        desired_resources: the resources of a goal by name.
        secret_sources: names of resources whose types create secrets.
    """
    readers: dict[str, list[str]] = {}
    waiting: list[str] = []
    for name, desired in desired_resources.items():
        for read in desired.referenced_names:
            readers.setdefault(read, []).append(name)
        if desired.sensitive or name in secret_sources:
            waiting.append(name)
    reached: set[str] = set()
    while waiting:
        for name in readers.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    if not reached:
        return desired_resources
    return pack_if_large(
        (name, _as_sensitive(desired) if name in reached else desired)
        for name, desired in desired_resources.items()
    )


def _as_sensitive(desired: DesiredResource) -> DesiredResource:
    """Return it as sensitive with the same hash: there is nothing to update."""
    definition = {**desired.definition, "sensitive": True}
    return replace(desired, sensitive=True, definition=definition)
