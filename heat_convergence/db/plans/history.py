"""Durations of the last actions on resources of each type in a project.

Called by the API when it makes a plan; one statement, whatever the number of resources.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.plans.duration import TypeHistory
from heat_convergence.db.tables import resource as t

_MICROSECONDS = 1_000_000
_ACTIONS = (Action.CREATE, Action.UPDATE)


def read_type_history(conn: Connection, project_id: str) -> TypeHistory:
    """Return the average seconds from the start of an action until the resource was ready.

    It is that of the last actions of the project's resources, by implementation and action.
    """
    started_at = sa.type_coerce(t.c.action_started_at, sa.BigInteger)
    observed_at = sa.type_coerce(t.c.observed_at, sa.BigInteger)
    query = (
        sa.select(t.c.implementation, t.c.action, sa.func.avg(observed_at - started_at))
        .where(
            t.c.project_id == project_id,
            t.c.status == Status.COMPLETE,
            t.c.action.in_(_ACTIONS),
            observed_at >= started_at,
        )
        .group_by(t.c.implementation, t.c.action)
    )
    return {
        (name, str(action)): float(average) / _MICROSECONDS
        for name, action, average in conn.execute(query)
    }
