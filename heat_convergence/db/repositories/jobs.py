"""Jobs of resources in the database: whose turn it is, and which are done.

How much is under way, and which jobs wait, is read without locks.  Jobs that are taken
are locked by key and read once more; no transaction waits for another here, and no entry
of an index that changes with the job's state is ever locked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import (
    COUNTED_IN_FLIGHT,
    JobRef,
    JobState,
    Verb,
    Workload,
)
from heat_convergence.convergence.model.job_transitions import repost, settle
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import ResourceColumns
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.jobs import JobRepository
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.resource_rows import (
    ANY_OF_IDS,
    NARROW_COLUMNS,
    PROJECT_INDEX,
    STACK_INDEX,
    for_update,
    for_update_skip_locked,
    select_narrow_rows,
)
from heat_convergence.db.statements.resource_updates import (
    apply_each_transition,
    apply_leased_transition,
    apply_transition,
    as_parameters,
    new_values,
    with_marks,
)
from heat_convergence.db.tables import resource, stack

_APPLYING = (Verb.CONVERGE, Verb.ADOPT)  # verbs that make reality match the definition
_RESUMING = (Verb.CONVERGE, Verb.RESUME)  # verbs that end a suspension
_POSTED_OR_RUNNING = sorted({JobState.POSTED, JobState.RUNNING})
_IN_FLIGHT = sorted(COUNTED_IN_FLIGHT)

_OF_PROJECT = resource.c.project_id == sa.bindparam("project")
_OF_STACK = resource.c.stack_id == sa.bindparam("stack")
_LIMIT = sa.bindparam("room", type_=sa.Integer)
_STACK, _PROJECT = sa.literal("stack").label("scope"), sa.literal("project").label("scope")


def _count(scope: Any, condition: Any, states: Sequence[JobState]) -> sa.Select[Any]:
    return (
        sa.select(scope, resource.c.job_state, sa.func.count().label("jobs"))
        .where(condition, resource.c.job_state.in_(states))
        .group_by(resource.c.job_state)
    )


def _find_any(scope: Any, condition: Any, state: JobState) -> sa.Select[Any]:
    one = (
        sa.select(resource.c.job_state)
        .where(condition, resource.c.job_state == state)
        .limit(1)
        .subquery()
    )
    return sa.select(scope, one.c.job_state, sa.literal(1).label("jobs"))


_OF_PROJECT_WORKLOAD = (
    _count(_PROJECT, _OF_PROJECT, _POSTED_OR_RUNNING),
    _find_any(_PROJECT, _OF_PROJECT, JobState.SCHEDULABLE),
)
_PROJECT_WORKLOAD = sa.union_all(*_OF_PROJECT_WORKLOAD)
_WORKLOAD = sa.union_all(
    *_OF_PROJECT_WORKLOAD,
    _count(_STACK, _OF_STACK, _IN_FLIGHT),
    _find_any(_STACK, _OF_STACK, JobState.QUEUED),
)
_ANY_OF_STACKS: sa.BindParameter[str] = sa.bindparam("stacks", expanding=True)
_WORKLOADS = sa.union_all(
    *_OF_PROJECT_WORKLOAD,
    _count(resource.c.stack_id, resource.c.stack_id.in_(_ANY_OF_STACKS), _IN_FLIGHT).group_by(
        resource.c.stack_id
    ),
    # One look for each stack ends at its first such job; a wide stack has very many.
    sa.select(stack.c.id, sa.literal(JobState.QUEUED), sa.literal(1)).where(
        stack.c.id.in_(_ANY_OF_STACKS),
        sa.exists().where(
            resource.c.stack_id == stack.c.id, resource.c.job_state == JobState.QUEUED
        ),
    ),
)


def _select_schedulable(round_: int, position: sa.ColumnElement[bool]) -> sa.Select[Any]:
    columns = (resource.c.root_id, resource.c.id, resource.c.stack_id, resource.c.version)
    some = (
        sa.select(*columns)
        .where(_OF_PROJECT, resource.c.job_state == JobState.SCHEDULABLE, position)
        .order_by(resource.c.root_id, resource.c.id)
        .limit(_LIMIT)
    )
    ranged = force_index(some, resource, PROJECT_INDEX).subquery()
    return sa.select(sa.literal(round_), *ranged.c)


# Two ranges of one index; only their few results are sorted.
_NEXT_SCHEDULABLE = sa.union_all(
    _select_schedulable(0, resource.c.root_id > sa.bindparam("after")),
    _select_schedulable(1, resource.c.root_id <= sa.bindparam("after")),
)
_LOCK_SCHEDULABLE = for_update_skip_locked(
    force_index(sa.select(resource.c.id), resource)
    .where(ANY_OF_IDS, resource.c.job_state == JobState.SCHEDULABLE)
    .order_by(resource.c.id)
)
_NEXT_QUEUED = (
    sa.select(resource.c.id)
    .where(_OF_STACK, resource.c.job_state == JobState.QUEUED)
    .order_by(resource.c.id)
    .limit(_LIMIT)
)
_MARK_COMPLETE = force_index(resource.update().where(ANY_OF_IDS), resource).values(
    **new_values(["updated_at", "job_state", "observed_at", "observe_at"]),  # as ``settle`` does
    status=Status.COMPLETE,
    job=None,
    # Set before ``job``, by the order of the columns: MySQL reads what is set already.
    applied_hash=sa.case(
        (resource.c.job.in_(_APPLYING), resource.c.definition_hash),
        else_=resource.c.applied_hash,
    ),
    suspended=sa.case((resource.c.job.in_(_RESUMING), sa.false()), else_=resource.c.suspended),
)


class SqlJobRepository(SqlRepository, JobRepository):
    """Jobs on a database connection."""

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Lock the stack's rows that have a job; return them narrow, by id."""
        statement = (
            force_index(sa.select(*NARROW_COLUMNS), resource, STACK_INDEX)
            .where(resource.c.stack_id == stack_id, resource.c.job.is_not(None))
            .order_by(resource.c.id)
        )
        return select_narrow_rows(self._connection, for_update(statement))

    def next_queued(self, stack_id: str, limit: int) -> list[str]:
        """Return ids of up to ``limit`` QUEUED jobs of the stack, oldest first."""
        return list(self._connection.scalars(_NEXT_QUEUED, {"stack": stack_id, "room": limit}))

    def next_schedulable(self, project_id: str, after: str, limit: int) -> list[JobRef]:
        """Lock SCHEDULABLE jobs of the project that no other transaction has locked.

        Twice as many are read as are returned at most, as another transaction may be
        about to take the first ones.
        """
        parameters = {"project": project_id, "after": after, "room": 2 * limit}
        found = sorted(
            tuple(row) for row in self._connection.execute(_NEXT_SCHEDULABLE, parameters)
        )
        waiting = {row[2]: JobRef(row[3], row[4], row[2]) for row in found[: 2 * limit]}
        taken: list[JobRef] = []
        while waiting and len(taken) < limit:
            some = list(waiting)[: limit - len(taken)]
            free = set(self._connection.scalars(_LOCK_SCHEDULABLE, {"ids": sorted(some)}))
            taken.extend(waiting.pop(one) for one in some if one in free)
            for one in set(some) - free:
                del waiting[one]
        return taken

    def get_workload(self, project_id: str, stack_id: str | None = None) -> Workload:
        """Return how much is under way in the project and, if named, in the stack."""
        parameters = {"project": project_id}
        statement = _PROJECT_WORKLOAD
        if stack_id is not None:
            statement = _WORKLOAD
            parameters["stack"] = stack_id
        found = self._count_jobs(statement, parameters)
        return _workload(found, "stack")

    def get_workloads(self, project_id: str, stack_ids: Collection[str]) -> Mapping[str, Workload]:
        """Return how much is under way in the project and in each of its stacks, by stack."""
        if len(stack_ids) == 1:
            (stack_id,) = stack_ids
            return {stack_id: self.get_workload(project_id, stack_id)}
        parameters = {"project": project_id, "stacks": sorted(stack_ids)}
        found = self._count_jobs(_WORKLOADS, parameters)
        return {stack_id: _workload(found, stack_id) for stack_id in stack_ids}

    def _count_jobs(
        self, statement: sa.CompoundSelect[Any], parameters: Mapping[str, Any]
    ) -> dict[tuple[str, str], int]:
        """Return the numbers of jobs by scope and state."""
        rows = self._connection.execute(statement, parameters)
        return {(row[0], row[1]): row[2] for row in rows}

    def apply(
        self, ids: Collection[str], transition: JobTransition, **columns: Unpack[ResourceColumns]
    ) -> None:
        """Apply a transition to jobs, and set the same further columns of their rows."""
        apply_transition(self._connection, ids, transition, columns)

    def apply_each(
        self, changes: Mapping[str, tuple[JobTransition, Mapping[str, object]]]
    ) -> None:
        """Apply transitions and set further columns by row, with one prepared statement."""
        apply_each_transition(self._connection, changes)

    def apply_leased(
        self,
        resource_id: str,
        token: str,
        version: int,
        transition: JobTransition,
        columns: Mapping[str, object],
    ) -> bool:
        """Apply a transition if the row still has this lease token and version."""
        lease = (resource_id, token, version)
        return apply_leased_transition(self._connection, lease, transition, columns)

    def repost(self, ids: Collection[str], now: datetime) -> None:
        """Make those of the jobs that are RUNNING POSTED again."""
        if ids:
            running = resource.update().where(
                resource.c.id.in_(sorted(ids)), resource.c.job_state == JobState.RUNNING
            )
            reposted = repost(now)
            marks = sa.literal(reposted.marks, sa.Text)
            posted = force_index(running, resource).values(
                timeline=with_marks(marks), **reposted.values
            )
            self._connection.execute(posted)

    def mark_complete(self, ids: Collection[str], now: datetime) -> None:
        """Mark resources COMPLETE and remove their jobs, leaving nothing to observe."""
        if ids:
            values = as_parameters({"updated_at": now, **settle(now).values})
            self._connection.execute(_MARK_COMPLETE, {"ids": sorted(ids), **values})


def _workload(found: Mapping[tuple[str, str], int], scope: str) -> Workload:
    """Return the workload of the project, and of the stack that the scope names."""
    return Workload(
        posted=found.get(("project", JobState.POSTED), 0),
        running=found.get(("project", JobState.RUNNING), 0),
        has_schedulable=("project", JobState.SCHEDULABLE) in found,
        in_flight=sum(found.get((scope, state), 0) for state in _IN_FLIGHT),
        has_queued=(scope, JobState.QUEUED) in found,
    )
