"""The port to readiness: what has been observed ready, and what that lets start.

Written by the observer, and by a traversal's start for what is ready already (RULE 2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.template.environment.readiness import ReadinessLevel


class ReadinessRepository(Protocol):
    """Readiness of resources in a traversal, which ``version`` names."""

    def mark_ready(self, version: int, ids: Collection[str]) -> None:
        """Mark resources as observed ready."""

    def mark_level(self, version: int, ids: Collection[str], level: ReadinessLevel) -> bool:
        """Mark edges of resources ready that wait for a level up to this one.

        Returns:
            Whether any of them was not ready before.
        """

    def find_released(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` whose level, below done, has let another one start."""

    def find_unready(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are not done."""

    def find_unready_stacks(self, stack_ids: Collection[str]) -> frozenset[str]:
        """Return those of the stacks in whose traversals a resource is not observed ready."""

    def find_with_touched_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that need something whose values changed in ``version``."""

    def find_unblocked_by(self, version: int, ids: Collection[str]) -> list[tuple[Resource, str]]:
        """Return BLOCKED resources that need one of ``ids`` and nothing unready, narrow.

        Returns:
            Each with the first of ``ids`` that it needs.
        """

    def find_wrongly_blocked(self, stack_id: str, version: int) -> list[str]:
        """Return ids of BLOCKED jobs that need nothing unready: none, unless a pass was lost."""

    def count_reads_at_rest(self, stack_id: str) -> Mapping[ObservedState | None, int]:
        """Count the stack's resources without a job that are to be read, by observed state."""
