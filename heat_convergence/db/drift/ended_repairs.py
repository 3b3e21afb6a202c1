"""Repairs that have ended, by the state of their stacks, in one statement."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.drift.policy import is_repaired
from heat_convergence.convergence.drift.repair_budget import RepairStatus
from heat_convergence.convergence.drift.repair_end import RepairEnd, TraversalState, find_end
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.db.drift import repair_rows
from heat_convergence.db.statements.readable_rows import read_each
from heat_convergence.db.tables import drift_repair as t
from heat_convergence.db.tables import resource, stack

_STACK_COLUMNS = (stack.c.version, stack.c.action, stack.c.status, stack.c.status_reason)
_FROM = t.outerjoin(
    stack, sa.and_(stack.c.id == t.c.stack_id, stack.c.deleted_at.is_(None))
).outerjoin(
    resource,
    sa.and_(
        resource.c.stack_id == t.c.stack_id,
        resource.c.name == t.c.resource_name,
        resource.c.desired == DesiredState.PRESENT,
    ),
)


def list_ended(connection: Connection, now: datetime, limit: int) -> list[RepairEnd]:
    """Return the ends that are not recorded, of repairs whose traversal does not go on."""
    goes_on = sa.and_(
        stack.c.id.is_not(None),
        stack.c.version <= t.c.version,
        sa.or_(
            sa.and_(stack.c.version == t.c.version, stack.c.status == Status.IN_PROGRESS),
            sa.and_(stack.c.version < t.c.version, t.c.next_at > now),
        ),
    )
    query = (
        sa.select(*repair_rows.COLUMNS, *_STACK_COLUMNS, resource.c.hooks_and_restrictions)
        .select_from(_FROM)
        .where(
            t.c.status == RepairStatus.STARTED,
            t.c.started_at.is_not(None),
            t.c.version.is_not(None),
            t.c.ended_at.is_(None),
            sa.or_(stack.c.id.is_(None), sa.not_(goes_on)),
        )
        .order_by(t.c.stack_id, t.c.resource_name)
        .limit(limit)
    )
    found = read_each(connection.execute(query), lambda row: _end_of(row, now))
    return [each for each in found if each is not None]


def _end_of(row: Any, now: datetime) -> RepairEnd | None:
    repair = repair_rows.from_row(row[: len(repair_rows.COLUMNS)])
    version, action, status, reason, words = row[len(repair_rows.COLUMNS) :]
    if version is None or not is_readable(version, action, status, reason):
        return find_end(repair, None, now)
    state = TraversalState(
        version=version,
        action=action,
        status=status,
        reason=reason,
        is_repair=is_readable(words) and is_repaired(words or ()),
    )
    return find_end(repair, state, now)
