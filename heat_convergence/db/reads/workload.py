"""Reads about the work of the whole service: its jobs and its stacks.

Called by the observers' metrics and by ``heat-convergence-manage``; reads through indexes on the
state of jobs, never the rows of idle resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.tables import resource, stack

READY_STATES = (JobState.SCHEDULABLE, JobState.POSTED)


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """Numbers of jobs and stacks.

    Attributes:
        jobs: Number of jobs by name of their state and resource type.
        stacks: Number of stacks that are not deleted, by action and status.
        oldest_ready_at: Time since which the oldest job waits that could be claimed.
    """

    jobs: Mapping[tuple[str, str], int]
    stacks: Mapping[tuple[str, str], int]
    oldest_ready_at: datetime | None


def summarize(connection: Connection) -> WorkloadSummary:
    """Count jobs and stacks, in three statements."""
    number = sa.func.count()
    jobs = (
        sa.select(resource.c.job_state, resource.c.type, number)
        .where(resource.c.job_state.is_not(None))
        .group_by(resource.c.job_state, resource.c.type)
    )
    stacks = (
        sa.select(stack.c.action, stack.c.status, number)
        .where(stack.c.deleted_at.is_(None))
        .group_by(stack.c.action, stack.c.status)
    )
    oldest = sa.select(sa.func.min(resource.c.posted_at)).where(
        resource.c.job_state.in_(READY_STATES)
    )
    return WorkloadSummary(
        jobs={(state.name, name): count for state, name, count in connection.execute(jobs)},
        stacks={
            (action.value, status.value): count
            for action, status, count in connection.execute(stacks)
        },
        oldest_ready_at=connection.scalar(oldest),
    )
