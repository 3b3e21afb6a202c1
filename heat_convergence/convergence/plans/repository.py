"""The port to the rows of stored plans."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from heat_convergence.convergence.plans.stored_plan import StoredPlan


class PlanRepository(Protocol):
    """Rows of stored plans."""

    def insert(self, plan: StoredPlan) -> None:
        """Insert a row."""

    def get(self, plan_id: str) -> StoredPlan | None:
        """Return the plan with everything that is stored of it; None if there is none."""

    def count_ready(self, project_id: str, now: datetime) -> int:
        """Return how many plans of the project can still be executed."""

    def mark_executed(self, plan_id: str, now: datetime) -> bool:
        """Mark the plan executed; return False if it is so already, expired or deleted."""

    def delete(self, plan_id: str) -> bool:
        """Delete the plan; return whether it existed."""
