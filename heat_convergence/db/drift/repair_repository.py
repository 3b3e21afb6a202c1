"""The repairs that the service starts by itself, in the database.

Every method is one transaction of a few statements, whatever the number of resources.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa

from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairDecision,
    RepairLimits,
    ResourceRepair,
    decide_repairs,
)
from heat_convergence.convergence.drift.repair_end import (
    RepairEnd,
    resume_repair,
    undo_repair,
)
from heat_convergence.convergence.drift.repair_repository import RepairRepository
from heat_convergence.db.connection.database import Database
from heat_convergence.db.drift import ended_repairs, repair_candidates, repair_rows
from heat_convergence.db.statements import quota_locks
from heat_convergence.db.tables import drift_repair as t

_CHUNK = 500  # few enough for the database to look rows up by key


class SqlRepairRepository(RepairRepository):
    """Repairs over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def list_candidates(self, now: datetime, limit: int) -> list[RepairCandidate]:
        """Return resources that have drifted, that nothing acts on, and whose policy is repair."""
        with self._database.read() as connection:
            return repair_candidates.list_candidates(connection, now, limit)

    def list_ended(self, now: datetime, limit: int) -> list[RepairEnd]:
        """Return repairs that have ended and whose end is not recorded, by stack and name."""
        with self._database.read() as connection:
            return ended_repairs.list_ended(connection, now, limit)

    def record_ends(self, project_id: str, ends: Sequence[RepairEnd], now: datetime) -> None:
        """Record the ends of repairs of a project, unless another one has started since."""
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, project_id)
            known = repair_rows.list_by(connection, t.c.project_id == project_id)
            rows = {row.key: row for row in known}
            valid = [each for each in ends if each.is_of(rows.get(each.repair.key))]
            repair_rows.replace_rows(connection, [each.as_row(now) for each in valid])

    def grant(
        self,
        project_id: str,
        candidates: Sequence[RepairCandidate],
        limits: RepairLimits,
        now: datetime,
    ) -> RepairDecision:
        """Grant repairs of a project within its budget, one caller at a time."""
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, project_id)
            known = repair_rows.list_by(connection, t.c.project_id == project_id)
            decision = decide_repairs(candidates, known, limits, now)
            repair_rows.replace_rows(connection, decision.changed)
        return decision

    def undo(
        self, candidates: Sequence[RepairCandidate], limits: RepairLimits, now: datetime
    ) -> None:
        """Take back granted repairs of a stack that could not be started."""
        keys = {each.key for each in candidates}
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, candidates[0].project_id)
            rows = repair_rows.list_by(
                connection, t.c.stack_id.in_({each.stack_id for each in candidates})
            )
            undone = [undo_repair(row, now, limits) for row in rows if row.key in keys]
            repair_rows.replace_rows(connection, undone)

    def list_repairs(self, stack_ids: Collection[str]) -> list[ResourceRepair]:
        """Return the repairs of the stacks' resources, by stack and name."""
        ids, found = sorted(stack_ids), []
        with self._database.read() as connection:
            for start in range(0, len(ids), _CHUNK):
                found += repair_rows.list_by(
                    connection, t.c.stack_id.in_(ids[start : start + _CHUNK])
                )
        return found

    def resume(self, project_id: str, stack_ids: Collection[str], now: datetime) -> int:
        """Forget the tries of the resources of a project's stacks, so that repairs go on."""
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, project_id)
            rows = repair_rows.list_by(
                connection, sa.and_(t.c.project_id == project_id, t.c.tries > 0)
            )
            tried = [row for row in rows if row.stack_id in stack_ids]
            repair_rows.replace_rows(connection, [resume_repair(row, now) for row in tried])
        return len(tried)
