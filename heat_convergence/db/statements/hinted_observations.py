"""Resources that wait for an observation and to which hints of other services apply."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.job_transitions import request_observation
from heat_convergence.db.statements.resource_rows import lock_matching
from heat_convergence.db.statements.resource_updates import update_rows
from heat_convergence.db.tables import resource

_CHUNK = 500  # few enough for the database to look rows up by key


def advance_observations(
    connection: Connection, hints: ChangeHints, now: datetime, limit: int
) -> int:
    """Make the resources due, without waiting for rows that another transaction has locked.

    Returns:
        The number of resources.
    """
    waiting = sa.and_(
        resource.c.job_state == JobState.AWAITING_OBSERVATION, resource.c.observe_at > now
    )
    conditions: list[sa.ColumnElement[bool]] = [
        resource.c.physical_id.in_(chunk) for chunk in _chunks(sorted(hints.physical_ids))
    ]
    conditions += [
        sa.and_(resource.c.project_id == project_id, resource.c.implementation.in_(names))
        for project_id, names in hints.types_by_project()
    ]
    count = 0
    for condition in conditions:
        query = sa.select(resource.c.id).where(condition, waiting).limit(limit)
        found = list(connection.scalars(query))
        ids = [row.id for row in lock_matching(connection, found, waiting)]
        update_rows(connection, ids, request_observation(now).values)
        count += len(ids)
    return count


def _chunks(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]
