"""The export of an abandoned stack, as an adoption uses it.

Kept by the simulated users between ``abandon`` and ``adopt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    is_stack_entry,
    is_suspended_entry,
    resource_entries,
)
from heat_convergence.convergence.lifecycle.traversal import AdoptedResource
from heat_convergence.convergence.model.resource import ADOPTED_STACK


@dataclass(frozen=True, slots=True)
class AbandonedStack:
    """The template and the export of an abandoned stack."""

    template: str
    stack_export: Mapping[str, Any]

    @property
    def adopted_resources(self) -> dict[str, AdoptedResource]:
        """The resources to adopt, by name."""
        return {
            name: AdoptedResource(None, {ADOPTED_STACK: entry}, True, is_suspended_entry(entry))
            if is_stack_entry(entry)
            else AdoptedResource(
                entry["resource_id"], entry["resource_data"], False, is_suspended_entry(entry)
            )
            for name, entry in resource_entries(self.stack_export)
        }
