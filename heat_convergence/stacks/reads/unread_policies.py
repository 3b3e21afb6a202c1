"""Drift policies without an effect: those of resources that the watch does not read.

Such a resource is shown as unknown. It does not count in the status of its stack: a pattern like
``*`` reaches resources that nothing can read, and they would hide that the others are in sync.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.policy import demands_reads
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import unread_resources
from heat_convergence.db.drift.unread_resources import UnreadResource
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.resources.protocol.watchable import is_read_by_watch
from heat_convergence.resources.registry import ResourceTypeRegistry

REASON = "resources of this type cannot be read: the drift policy has no effect"


def mark_unread(
    rows: Sequence[ResourceRow],
    registry: ResourceTypeRegistry,
    nested: Container[tuple[str, str]],
) -> list[ResourceRow]:
    """Return the rows; those whose policy has no effect are unknown.

    Args:
        rows: the resources.
        registry: the resource types.
        nested: stack id and name of the resources that have a nested stack.
    """
    return [
        replace(row, drift=replace(row.drift, status=DriftStatus.UNKNOWN))
        if (row.stack_id, row.name) not in nested and _is_unread(row, registry)
        else row
        for row in rows
    ]


def list_unread(conn: Any, stack: Stack, registry: ResourceTypeRegistry) -> list[UnreadResource]:
    """Return the resources of a stack, and of those below it, whose policy has no effect."""
    found = unread_resources.list_by_tree(conn, stack)
    return [each for each in found if _has_unread_type(each.implementation, registry)]


def _is_unread(row: ResourceRow, registry: ResourceTypeRegistry) -> bool:
    return (
        row.drift.status is DriftStatus.NOT_CHECKED
        and demands_reads(row.hooks_and_restrictions)
        and _has_unread_type(row.implementation, registry)
    )


def _has_unread_type(implementation: str, registry: ResourceTypeRegistry) -> bool:
    """Return whether a known type is not read; of an unknown one nothing can be said."""
    resource_type = registry.find(implementation)
    return resource_type is not None and not is_read_by_watch(resource_type)
