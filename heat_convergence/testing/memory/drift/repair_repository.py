"""Repairs in memory: every method is a loop over all rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    DriftStatus,
    ResourceObservation,
)
from heat_convergence.convergence.drift.policy import is_repaired
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairDecision,
    RepairLimits,
    ResourceRepair,
    decide_repairs,
)
from heat_convergence.convergence.drift.repair_end import (
    RepairEnd,
    TraversalState,
    find_end,
    is_at_rest,
    resume_repair,
    undo_repair,
)
from heat_convergence.convergence.drift.repair_repository import RepairRepository
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow, window_from_words
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
            version = tables.stacks[row.stack_id].version
            if repair is None or repair.may_start(version, now):
                found.append(
                    RepairCandidate(
                        stack_id=row.stack_id,
                        project_id=each.project_id,
                        resource_name=row.name,
                        status=each.status,
                        stack_version=version,
                        window=self._window_of(row),
                    )
                )
        return found[:limit]

    def _window_of(self, row: Resource) -> RepairWindow | None:
        found = window_from_words(row.desired.hooks_and_restrictions)
        stack = self._session.tables.stacks[row.stack_id]
        controls = self._session.tables.drift_controls
        for control in (controls.get(stack.id), controls.get(stack.tree_id)):
            found = found or (None if control is None else control.repair_window)
        return found

    def list_ended(self, now: datetime, limit: int) -> list[RepairEnd]:
        """Return repairs that have ended and whose end is not recorded, by stack and name."""
        rows = sorted(self._session.tables.drift_repairs.items())
        ends = (find_end(row, self._state_of(row), now) for _key, row in rows if row.is_running)
        return [each for each in ends if each is not None][:limit]

    def _state_of(self, repair: ResourceRepair) -> TraversalState | None:
        tables = self._session.tables
        stack = tables.stacks.get(repair.stack_id)
        if stack is None or stack.deleted_at is not None:
            return None
        rows = (
            row
            for row in tables.resources.values()
            if (row.stack_id, row.name) == repair.key and row.desired.state is DesiredState.PRESENT
        )
        return TraversalState(
            version=stack.version,
            action=stack.action,
            status=stack.status,
            reason=stack.status_reason,
            is_repair=any(is_repaired(row.desired.hooks_and_restrictions) for row in rows),
        )

    def record_ends(self, project_id: str, ends: Sequence[RepairEnd], now: datetime) -> None:
        """Record the ends of repairs of a project, unless another one has started since."""
        with self._session.transaction():
            rows = self._session.tables.drift_repairs
            self._store(each.as_row(now) for each in ends if each.is_of(rows.get(each.repair.key)))

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
            and is_at_rest(stack)
            and is_at_rest(root)
            and not paused
        )

    def grant(
        self,
        project_id: str,
        candidates: Sequence[RepairCandidate],
        limits: RepairLimits,
        now: datetime,
    ) -> RepairDecision:
        """Grant repairs of a project within its budget, one caller at a time."""
        with self._session.transaction():
            rows = self._session.tables.drift_repairs.values()
            known = [row for row in rows if row.project_id == project_id]
            decision = decide_repairs(candidates, known, limits, now)
            self._store(decision.changed)
        return decision

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
