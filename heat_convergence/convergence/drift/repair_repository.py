"""The rows of repairs that the service starts by itself.

Implemented by ``db.drift`` and in memory. Each method is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairDecision,
    RepairLimits,
    ResourceRepair,
)
from heat_convergence.convergence.drift.repair_end import RepairEnd


class RepairRepository(Protocol):
    """The repairs of all projects."""

    def list_candidates(self, now: datetime, limit: int) -> list[RepairCandidate]:
        """Return resources that have drifted, that nothing acts on, and whose policy is repair.

        Their stack and its root are COMPLETE and not suspended, and no user has paused the
        repairs of one of them. Resources whose next repair is too early, or suspended, are left
        out, and those of which a repair goes on. What is missing was found missing by two reads.
        """

    def list_ended(self, now: datetime, limit: int) -> list[RepairEnd]:
        """Return repairs that have ended and whose end is not recorded, by stack and name."""

    def record_ends(self, project_id: str, ends: Sequence[RepairEnd], now: datetime) -> None:
        """Record the ends of repairs of a project, unless another one has started since."""

    def grant(
        self,
        project_id: str,
        candidates: Sequence[RepairCandidate],
        limits: RepairLimits,
        now: datetime,
    ) -> RepairDecision:
        """Grant repairs of a project within its budget, one caller at a time.

        Returns:
            The candidates whose repair starts, which count as tries, and the stored rows.
        """

    def undo(
        self, candidates: Sequence[RepairCandidate], limits: RepairLimits, now: datetime
    ) -> None:
        """Take back granted repairs of a stack that could not be started."""

    def list_repairs(self, stack_ids: Collection[str]) -> list[ResourceRepair]:
        """Return the repairs of the stacks' resources, by stack and name."""

    def resume(self, project_id: str, stack_ids: Collection[str], now: datetime) -> int:
        """Forget the tries of the resources of a project's stacks, so that repairs go on.

        The budget stays.

        Returns:
            The number of resources whose tries counted.
        """
