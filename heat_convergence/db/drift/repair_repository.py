"""The repairs that the service starts by itself, in the database.

Every method is one transaction of a few statements, whatever the number of resources.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.observation import DRIFTED, DriftStatus
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
from heat_convergence.db.connection.database import Database
from heat_convergence.db.drift.reads import VALID
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements import quota_locks
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import drift_repair as t
from heat_convergence.db.tables import (
    observation,
    resource,
    stack,
    stack_drift,
    watch_group,
)
from heat_convergence.template.environment.drift_policies import DriftPolicy

_FIELDS = tuple(field.name for field in fields(ResourceRepair))
_COLUMNS = tuple(t.c[name] for name in _FIELDS)
_CANDIDATE_FIELDS = ("stack_id", "project_id", "resource_name", "status")
_CHUNK = 500  # few enough for the database to look rows up by key
_root = stack.alias("root")


def _is_at_rest(of: Any) -> sa.ColumnElement[bool]:
    return sa.and_(
        of.c.status == Status.COMPLETE,
        of.c.action.not_in([Action.SUSPEND, Action.DELETE]),
        of.c.deleted_at.is_(None),
    )


_PAUSED = sa.exists().where(
    stack_drift.c.stack_id.in_([stack.c.id, _root.c.id]), stack_drift.c.paused
)
_FROM = (
    observation.join(resource, sa.and_(resource.c.id == observation.c.resource_id, VALID))
    .join(stack, stack.c.id == resource.c.stack_id)
    .join(_root, _root.c.id == sa.func.coalesce(stack.c.root_id, stack.c.id))
    .join(
        watch_group,
        sa.and_(
            watch_group.c.project_id == observation.c.project_id,
            watch_group.c.implementation == observation.c.implementation,
        ),
    )
    .outerjoin(
        t, sa.and_(t.c.stack_id == resource.c.stack_id, t.c.resource_name == resource.c.name)
    )
)


class SqlRepairRepository(RepairRepository):
    """Repairs over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def list_candidates(self, now: datetime, limit: int) -> list[RepairCandidate]:
        """Return resources that have drifted, that nothing acts on, and whose policy is repair."""
        confirmed = watch_group.c.observed_at > observation.c.observed_at
        query = (
            sa.select(
                stack.c.id,
                observation.c.project_id,
                resource.c.name,
                observation.c.status,
            )
            .select_from(_FROM)
            .where(
                observation.c.policy == DriftPolicy.REPAIR,
                observation.c.status.in_(sorted(DRIFTED)),
                # RULE 10: what is missing must be found missing twice.
                sa.or_(observation.c.status != DriftStatus.DELETED, confirmed),
                _is_at_rest(stack),
                _is_at_rest(_root),
                ~_PAUSED,
                resource.c.job_state.is_(None),
                resource.c.status == Status.COMPLETE,
                resource.c.desired == DesiredState.PRESENT,
                sa.or_(
                    t.c.stack_id.is_(None),
                    sa.and_(t.c.status != RepairStatus.SUSPENDED, t.c.next_at <= now),
                ),
            )
            .order_by(observation.c.observed_at, observation.c.resource_id)
            .limit(limit)
        )
        with self._database.read() as connection:
            return read_each(connection.execute(query), _candidate_of)

    def grant(
        self,
        project_id: str,
        candidates: Sequence[RepairCandidate],
        limits: RepairLimits,
        now: datetime,
    ) -> tuple[RepairCandidate, ...]:
        """Grant repairs of a project within its budget, one caller at a time."""
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, project_id)
            known = _list(connection, t.c.project_id == project_id)
            decision = decide_repairs(candidates, known, limits, now)
            _replace(connection, decision.changed)
        return decision.granted

    def undo(
        self, candidates: Sequence[RepairCandidate], limits: RepairLimits, now: datetime
    ) -> None:
        """Take back granted repairs of a stack that could not be started."""
        keys = {each.key for each in candidates}
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, candidates[0].project_id)
            rows = _list(connection, t.c.stack_id.in_({each.stack_id for each in candidates}))
            undone = [undo_repair(row, now, limits) for row in rows if row.key in keys]
            _replace(connection, undone)

    def list_repairs(self, stack_ids: Collection[str]) -> list[ResourceRepair]:
        """Return the repairs of the stacks' resources, by stack and name."""
        ids, found = sorted(stack_ids), []
        with self._database.read() as connection:
            for start in range(0, len(ids), _CHUNK):
                found += _list(connection, t.c.stack_id.in_(ids[start : start + _CHUNK]))
        return found

    def resume(self, project_id: str, stack_ids: Collection[str], now: datetime) -> int:
        """Forget the tries of the resources of a project's stacks, so that repairs go on."""
        with self._database.write() as connection:
            quota_locks.lock_quotas(connection, project_id)
            rows = _list(connection, sa.and_(t.c.project_id == project_id, t.c.tries > 0))
            tried = [row for row in rows if row.stack_id in stack_ids]
            _replace(connection, [resume_repair(row, now) for row in tried])
        return len(tried)


def _list(connection: Connection, condition: sa.ColumnElement[bool]) -> list[ResourceRepair]:
    query = sa.select(*_COLUMNS).where(condition).order_by(t.c.stack_id, t.c.resource_name)
    return read_each(connection.execute(query), _repair_of)


def _replace(connection: Connection, repairs: Sequence[ResourceRepair]) -> None:
    by_stack: dict[str, list[str]] = {}
    for repair in repairs:
        by_stack.setdefault(repair.stack_id, []).append(repair.resource_name)
    for stack_id, names in sorted(by_stack.items()):
        key = sa.and_(t.c.stack_id == stack_id, t.c.resource_name.in_(sorted(names)))
        connection.execute(safe_delete(t).where(key))
    if repairs:
        connection.execute(t.insert(), [_values(repair) for repair in repairs])


def _values(repair: ResourceRepair) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(repair, name) for name in _FIELDS}
    values["destructive_at"] = [time.isoformat() for time in repair.destructive_at]
    return values


def _repair_of(row: Any) -> ResourceRepair:
    values = dict(zip(_FIELDS, check_row(t.name, _FIELDS, row), strict=True))
    times = tuple(datetime.fromisoformat(text) for text in values["destructive_at"])
    return ResourceRepair(**{**values, "destructive_at": times})


def _candidate_of(row: Any) -> RepairCandidate:
    values = check_row(observation.name, _CANDIDATE_FIELDS, row)
    return RepairCandidate(**dict(zip(_CANDIDATE_FIELDS, values, strict=True)))
