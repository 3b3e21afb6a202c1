"""The export of an abandoned stack, as an adoption uses it.

Kept by the simulated users between ``abandon`` and ``adopt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.convergence.lifecycle.snapshots import stack_export


@dataclass(frozen=True, slots=True)
class AbandonedStack:
    """The template and the export of an abandoned stack."""

    template: str
    stack_export: Mapping[str, Any]

    @property
    def resource_entries(self) -> dict[str, Any]:
        """The entries of the resources to adopt, by name."""
        return dict(stack_export.resource_entries(self.stack_export))
