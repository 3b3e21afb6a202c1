"""Reads about what jobs wait for: requirements, tries, and the queue of a project.

Called by the API; each is one statement, whatever the number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.db.tables import resource, resource_graph
from heat_convergence.template.environment.readiness import ReadinessLevel, demands_health


@dataclass(frozen=True, slots=True)
class UnreadyResource:
    """A resource that is not ready and that others wait for.

    Attributes:
        level: the readiness level that it has to reach; None if it is to be deleted.
    """

    name: str
    resource_type: str
    action: Action
    status: Status
    started_at: datetime | None
    level: ReadinessLevel | None = ReadinessLevel.ACTIVE


def find_unready_requirements(
    connection: Connection, resource_ids: Collection[str]
) -> Mapping[str, list[UnreadyResource]]:
    """Return what the resources still need, by the id of the resource that needs it."""
    c = resource.c
    edge = (resource_graph.c.needed_by, resource_graph.c.level)
    shown = (c.name, c.type, c.action, c.status, c.action_started_at)
    statement = (
        sa.select(*edge, *shown, c.desired, c.hooks_and_restrictions)
        .join(resource, c.id == resource_graph.c.resource_id)
        .where(
            resource_graph.c.needed_by.in_(resource_ids),
            resource_graph.c.observed_ready == sa.false(),
            resource_graph.c.version == c.version,
        )
        .order_by(resource_graph.c.needed_by, c.name)
    )
    found: dict[str, list[UnreadyResource]] = {}
    for row in connection.execute(statement):
        if is_readable(*row):
            level = _level_of(row.level, row.desired, row.hooks_and_restrictions)
            unready = UnreadyResource(
                row.name, row.type, row.action, row.status, row.action_started_at, level
            )
            found.setdefault(row.needed_by, []).append(unready)
    return found


def _level_of(
    level: ReadinessLevel | None, desired: DesiredState, words: Collection[str]
) -> ReadinessLevel | None:
    """Return the level at which an edge of the graph is ready: without one, that of the job."""
    if desired is not DesiredState.PRESENT:
        return None
    done = ReadinessLevel.HEALTHY if demands_health(words) else ReadinessLevel.ACTIVE
    return level or done


def count_tries(connection: Connection, resource_ids: Collection[str]) -> Mapping[str, int]:
    """Return the failed tries in the current traversal, by the id of the resource."""
    statement = (
        sa.select(resource_graph.c.resource_id, sa.func.max(resource_graph.c.retry_count))
        .join(
            resource,
            sa.and_(
                resource.c.id == resource_graph.c.resource_id,
                resource.c.version == resource_graph.c.version,
            ),
        )
        .where(resource_graph.c.resource_id.in_(resource_ids))
        .group_by(resource_graph.c.resource_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def count_in_queue(connection: Connection, project_id: str, posted_before: datetime) -> int:
    """Return how many jobs of the project wait for its turn since before that time."""
    statement = sa.select(sa.func.count()).where(
        resource.c.project_id == project_id,
        resource.c.job_state == JobState.SCHEDULABLE,
        resource.c.posted_at < posted_before,
    )
    return connection.scalar(statement) or 0


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Numbers of resources of one or more stacks.

    Attributes:
        total: those that the goals have.
        unfinished: those with a job, by its state; deletions are among them.
    """

    total: int
    unfinished: Mapping[JobState, int]


def count_jobs(connection: Connection, stack_ids: Collection[str]) -> JobCounts:
    """Count the resources of the stacks and their jobs, in one statement."""
    c = resource.c
    statement = (
        sa.select(c.job_state, c.desired, sa.func.count())
        .where(c.stack_id.in_(stack_ids))
        .group_by(c.job_state, c.desired)
    )
    total, unfinished = 0, Counter[JobState]()
    for job_state, desired, count in connection.execute(statement):
        total += count if desired is DesiredState.PRESENT else 0
        if isinstance(job_state, JobState) and job_state is not JobState.CANCELLED:
            unfinished[job_state] += count
    return JobCounts(total, unfinished)
