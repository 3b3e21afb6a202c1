"""Repairs in memory: every method is a loop over all rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    DriftStatus,
    ResourceObservation,
)
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairLimits,
    RepairStatus,
    ResourceRepair,
    decide_repairs,
    resume_repair,
    undo_repair,
)
from heat_convergence.convergence.drift.repair_repository import RepairRepository
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.testing.memory.transaction import MemorySession


class MemoryRepairRepository(RepairRepository):
    """Repairs over dictionaries."""

    def __init__(self, session: MemorySession) -> None:
        """Use the tables of ``session``."""
        self._session = session

    def list_candidates(self, now: datetime, limit: int) -> list[RepairCandidate]:
        """Return resources that have drifted, that nothing acts on, and whose policy is repair."""
        tables = self._session.tables
        found = []
        for each in sorted(
            tables.observations.values(), key=lambda each: (each.observed_at, each.resource_id)
        ):
            row = tables.resources.get(each.resource_id)
            if row is None or not self._is_repairable(each, row):
                continue
            repair = tables.drift_repairs.get((row.stack_id, row.name))
            if repair is None or (
                repair.status is not RepairStatus.SUSPENDED and repair.next_at <= now
            ):
                found.append(
                    RepairCandidate(
                        stack_id=row.stack_id,
                        project_id=each.project_id,
                        resource_name=row.name,
                        status=each.status,
                    )
                )
        return found[:limit]

    def _is_repairable(self, observation: ResourceObservation, row: Resource) -> bool:
        tables = self._session.tables
        stack = tables.stacks[row.stack_id]
        root = tables.stacks.get(stack.tree_id)
        group = tables.watch_groups.get((observation.project_id, observation.implementation))
        if group is None or root is None:
            return False
        # RULE 10: what is missing must be found missing twice.
        confirmed = group.observed_at is not None and group.observed_at > observation.observed_at
        paused = any(
            each.paused
            for key, each in tables.drift_controls.items()
            if key in (stack.id, root.id)
        )
        return (
            observation.policy is DriftPolicy.REPAIR
            and observation.status in DRIFTED
            and (observation.status is not DriftStatus.DELETED or confirmed)
            and observation.resource_updated_at == row.state.updated_at
            and row.job.state is None
            and row.state.status is Status.COMPLETE
            and row.desired.state is DesiredState.PRESENT
            and _is_at_rest(stack)
            and _is_at_rest(root)
            and not paused
        )

    def grant(
        self,
        project_id: str,
        candidates: Sequence[RepairCandidate],
        limits: RepairLimits,
        now: datetime,
    ) -> tuple[RepairCandidate, ...]:
        """Grant repairs of a project within its budget, one caller at a time."""
        with self._session.transaction():
            rows = self._session.tables.drift_repairs.values()
            known = [row for row in rows if row.project_id == project_id]
            decision = decide_repairs(candidates, known, limits, now)
            self._store(decision.changed)
        return decision.granted

    def undo(
        self, candidates: Sequence[RepairCandidate], limits: RepairLimits, now: datetime
    ) -> None:
        """Take back granted repairs of a stack that could not be started."""
        with self._session.transaction():
            rows = self._session.tables.drift_repairs
            keys = [each.key for each in candidates if each.key in rows]
            self._store(undo_repair(rows[key], now, limits) for key in keys)

    def list_repairs(self, stack_ids: Collection[str]) -> list[ResourceRepair]:
        """Return the repairs of the stacks' resources, by stack and name."""
        rows = self._session.tables.drift_repairs
        return [row for key, row in sorted(rows.items()) if row.stack_id in stack_ids]

    def resume(self, project_id: str, stack_ids: Collection[str], now: datetime) -> int:
        """Forget the tries of the resources of a project's stacks, so that repairs go on."""
        known = self.list_repairs(stack_ids)
        rows = [row for row in known if row.tries and row.project_id == project_id]
        with self._session.transaction():
            self._store([resume_repair(row, now) for row in rows])
        return len(rows)

    def _store(self, repairs: Iterable[ResourceRepair]) -> None:
        self._session.tables.drift_repairs.update({row.key: row for row in list(repairs)})


def _is_at_rest(stack: Stack) -> bool:
    return (
        stack.status is Status.COMPLETE
        and stack.action not in (Action.SUSPEND, Action.DELETE)
        and stack.deleted_at is None
    )
