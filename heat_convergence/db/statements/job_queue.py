"""Statements about which jobs come next, inside a transaction of ``db.store``.

Read without locks: how much is under way, and which jobs wait.  What is taken is
locked by key and looked at once more; nobody waits for anybody here, and no entry of an
index that changes with the job's state is ever locked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.job import COUNTED_IN_FLIGHT, JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports import JobRef, Workload
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements import stacks
from heat_convergence.db.statements.resources import FOR_NO_KEY_UPDATE_SKIP_LOCKED
from heat_convergence.db.tables import resource, stack

POSTED_OR_RUNNING = sorted({JobState.POSTED, JobState.RUNNING})
_HAS_ROOM = sorted(COUNTED_IN_FLIGHT)

_OF_PROJECT = resource.c.project_id == sa.bindparam("project")
_OF_STACK = resource.c.stack_id == sa.bindparam("stack")
_ROOM = sa.bindparam("room", type_=sa.Integer)
_STACKS, _PROJECTS = sa.literal("stack").label("whose"), sa.literal("project").label("whose")


def _counts(whose: Any, condition: Any, states: Sequence[JobState]) -> sa.Select[Any]:
    return (
        sa.select(whose, resource.c.job_state, sa.func.count().label("jobs"))
        .where(condition, resource.c.job_state.in_(states))
        .group_by(resource.c.job_state)
    )


def _any(whose: Any, condition: Any, state: JobState) -> sa.Select[Any]:
    one = (
        sa.select(resource.c.job_state)
        .where(condition, resource.c.job_state == state)
        .limit(1)
        .subquery()
    )
    return sa.select(whose, one.c.job_state, sa.literal(1).label("jobs"))


_PROJECTS_WORK = (
    _counts(_PROJECTS, _OF_PROJECT, POSTED_OR_RUNNING),
    _any(_PROJECTS, _OF_PROJECT, JobState.SCHEDULABLE),
)
_WORK = sa.union_all(*_PROJECTS_WORK)
_ALL_WORK = sa.union_all(
    *_PROJECTS_WORK,
    _counts(_STACKS, _OF_STACK, _HAS_ROOM),
    _any(_STACKS, _OF_STACK, JobState.QUEUED),
)


def get_workload(connection: Connection, project_id: str, stack_id: str | None = None) -> Workload:
    given = {"project": project_id}
    statement = _WORK
    if stack_id is not None:
        statement = _ALL_WORK
        given["stack"] = stack_id
    found = {(row[0], row[1]): row[2] for row in connection.execute(statement, given)}
    return Workload(
        posted=found.get(("project", JobState.POSTED), 0),
        running=found.get(("project", JobState.RUNNING), 0),
        has_schedulable=("project", JobState.SCHEDULABLE) in found,
        in_flight=sum(found.get(("stack", state), 0) for state in _HAS_ROOM),
        has_queued=("stack", JobState.QUEUED) in found,
    )


_THE_STACKS = resource.c.project_id == stack.c.project_id


def _number(state: JobState) -> sa.ScalarSelect[int]:
    jobs = sa.select(sa.func.count()).where(_THE_STACKS, resource.c.job_state == state)
    return jobs.correlate(stack).scalar_subquery()


_AT_WORK = sa.select(
    *stacks.get_columns(),
    _number(JobState.POSTED),
    _number(JobState.RUNNING),
    sa.exists().where(_THE_STACKS, resource.c.job_state == JobState.SCHEDULABLE).correlate(stack),
).where(stack.c.id == sa.bindparam("stack"))


def get_stack_with_workload(
    connection: Connection, stack_id: str
) -> tuple[Stack, Workload] | None:
    row = connection.execute(_AT_WORK, {"stack": stack_id}).first()
    if row is None:
        return None
    posted, begun, due = row[-3:]
    return stacks.from_row(row[:-3]), Workload(
        posted=posted, running=begun, has_schedulable=bool(due)
    )


def _due(turn: int, place: sa.ColumnElement[bool]) -> sa.Select[Any]:
    columns = (resource.c.root_id, resource.c.id, resource.c.stack_id, resource.c.version)
    some = (
        sa.select(*columns)
        .where(_OF_PROJECT, resource.c.job_state == JobState.SCHEDULABLE, place)
        .order_by(resource.c.root_id, resource.c.id)
        .limit(_ROOM)
    )
    ranged = force_index(some, resource, "ix_resource_project_id_job_state").subquery()
    return sa.select(sa.literal(turn), *ranged.c)


# Two ranges of one index; only what they give is sorted.
_DUE_IN_TURN = sa.union_all(
    _due(0, resource.c.root_id > sa.bindparam("after")),
    _due(1, resource.c.root_id <= sa.bindparam("after")),
)
_LOCK_DUE = (
    force_index(sa.select(resource.c.id), resource)
    .where(
        resource.c.id.in_(sa.bindparam("ids", expanding=True)),
        resource.c.job_state == JobState.SCHEDULABLE,
    )
    .order_by(resource.c.id)
    .with_for_update(**FOR_NO_KEY_UPDATE_SKIP_LOCKED)
)


def next_schedulable(
    connection: Connection, project_id: str, after: str, limit: int
) -> list[JobRef]:
    """Twice as many are read as wanted, as others may be about to take the first ones."""
    given = {"project": project_id, "after": after, "room": 2 * limit}
    found = sorted(tuple(row) for row in connection.execute(_DUE_IN_TURN, given))
    waiting = {row[2]: JobRef(row[3], row[4], row[2]) for row in found[: 2 * limit]}
    taken: list[JobRef] = []
    while waiting and len(taken) < limit:
        some = list(waiting)[: limit - len(taken)]
        free = set(connection.scalars(_LOCK_DUE, {"ids": sorted(some)}))
        taken.extend(waiting.pop(one) for one in some if one in free)
        for one in set(some) - free:
            del waiting[one]
    return taken


_QUEUED = (
    sa.select(resource.c.id)
    .where(_OF_STACK, resource.c.job_state == JobState.QUEUED)
    .order_by(resource.c.id)
    .limit(_ROOM)
)


def next_queued(connection: Connection, stack_id: str, limit: int) -> list[str]:
    return list(connection.scalars(_QUEUED, {"stack": stack_id, "room": limit}))


def repost_jobs(connection: Connection, ids: Collection[str], now: datetime) -> None:
    if ids:
        begun = resource.update().where(
            resource.c.id.in_(sorted(ids)), resource.c.job_state == JobState.RUNNING
        )
        changed = force_index(begun, resource).values(job_state=JobState.POSTED, posted_at=now)
        connection.execute(changed)
