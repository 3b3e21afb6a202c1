"""Durations of the last actions on resources of each type in a project.

Called by the API when it makes a plan, and when it says what a resource waits for; one statement,
whatever the number of resources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.plans.duration import TypeHistory
from heat_convergence.db.tables import resource as t

_MICROSECONDS = 1_000_000
_ACTIONS = (Action.CREATE, Action.UPDATE)
_SAMPLE_SIZE = 1000
_STARTED_AT = sa.type_coerce(t.c.action_started_at, sa.BigInteger)
_OBSERVED_AT = sa.type_coerce(t.c.observed_at, sa.BigInteger)


def read_type_history(conn: Connection, project_id: str) -> TypeHistory:
    """Return the average seconds from the start of an action until the resource was ready.

    It is that of the last actions of the project's resources, by implementation and action.
    """
    query = (
        sa.select(t.c.implementation, t.c.action, sa.func.avg(_OBSERVED_AT - _STARTED_AT))
        .where(*_completed_in(project_id))
        .group_by(t.c.implementation, t.c.action)
    )
    return _in_seconds(conn.execute(query))


def read_usual_durations(conn: Connection, project_id: str, types: Collection[str]) -> TypeHistory:
    """Return the average seconds of actions on resources of some types, by type and action.

    At most 1,000 resources are read, so that the statement is fast in a large project.
    """
    sample = (
        sa.select(t.c.type, t.c.action, (_OBSERVED_AT - _STARTED_AT).label("duration"))
        .where(*_completed_in(project_id), t.c.type.in_(types))
        .limit(_SAMPLE_SIZE)
        .subquery()
    )
    of = sample.c
    query = sa.select(of.type, of.action, sa.func.avg(of.duration)).group_by(of.type, of.action)
    return _in_seconds(conn.execute(query))


def _completed_in(project_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions of the project's resources whose last action was completed."""
    return (
        t.c.project_id == project_id,
        t.c.status == Status.COMPLETE,
        t.c.action.in_(_ACTIONS),
        _OBSERVED_AT >= _STARTED_AT,
    )


def _in_seconds(rows: Iterable[Any]) -> TypeHistory:
    return {(name, str(action)): float(average) / _MICROSECONDS for name, action, average in rows}
