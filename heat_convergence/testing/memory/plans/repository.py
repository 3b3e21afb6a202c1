"""Stored plans in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from heat_convergence.convergence.plans.repository import PlanRepository
from heat_convergence.convergence.plans.stored_plan import PlanStatus, StoredPlan
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryPlanRepository(MemoryRepository, PlanRepository):
    """Stored plans in a dictionary."""

    def insert(self, plan: StoredPlan) -> None:
        """Insert a row."""
        self._tables.plans[plan.id] = plan

    def get(self, plan_id: str) -> StoredPlan | None:
        """Return the plan with everything that is stored of it; None if there is none."""
        return self._tables.plans.get(plan_id)

    def count_ready(self, project_id: str, now: datetime) -> int:
        """Return how many plans of the project can still be executed."""
        found = (each for each in self._tables.plans.values() if each.project_id == project_id)
        return sum(each.status(now) is PlanStatus.READY for each in found)

    def mark_executed(self, plan_id: str, now: datetime) -> bool:
        """Mark the plan executed; return False if it is so already, expired or deleted."""
        plan = self._tables.plans.get(plan_id)
        if plan is None or plan.status(now) is not PlanStatus.READY:
            return False
        self._tables.plans[plan_id] = replace(plan, executed_at=now)
        return True

    def delete(self, plan_id: str) -> bool:
        """Delete the plan; return whether it existed."""
        return self._tables.plans.pop(plan_id, None) is not None
