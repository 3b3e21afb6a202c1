"""Jobs of resources in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Unpack

from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import (
    COUNTED_IN_FLIGHT,
    JobRef,
    JobState,
    Verb,
    Workload,
)
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import (
    ResourceColumns,
    narrow,
    with_columns,
)
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.jobs import JobRepository
from heat_convergence.testing.memory.tables import MemoryRepository

_APPLYING = (Verb.CONVERGE, Verb.ADOPT)
_RESUMING = (Verb.CONVERGE, Verb.RESUME)


class MemoryJobRepository(MemoryRepository, JobRepository):
    """Jobs of resources in a dictionary."""

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's rows that have a job, narrow, by id."""
        rows = self._tables.resources_of_stack(stack_id)
        return [narrow(row) for row in rows if row.job.verb is not None]

    def next_queued(self, stack_id: str, limit: int) -> list[str]:
        """Return ids of up to ``limit`` QUEUED jobs of the stack, oldest first."""
        rows = self._tables.resources_of_stack(stack_id)
        return [row.id for row in rows if row.job.state is JobState.QUEUED][:limit]

    def next_schedulable(self, project_id: str, after: str, limit: int) -> list[JobRef]:
        """Return SCHEDULABLE jobs of the project, those of trees after ``after`` first."""
        schedulable = [
            row
            for row in self._tables.resources.values()
            if row.identity.project_id == project_id and row.job.state is JobState.SCHEDULABLE
        ]
        schedulable.sort(
            key=lambda row: (row.identity.root_id <= after, row.identity.root_id, row.id)
        )
        return [JobRef(row.stack_id, row.job.version, row.id) for row in schedulable[:limit]]

    def get_workload(self, project_id: str, stack_id: str | None = None) -> Workload:
        """Return how much is under way in the project and, if named, in the stack."""
        rows = [row for row in self._tables.resources.values() if row.job.state is not None]
        project = [row.job.state for row in rows if row.identity.project_id == project_id]
        stack = [row.job.state for row in rows if row.stack_id == stack_id]
        return Workload(
            posted=project.count(JobState.POSTED),
            running=project.count(JobState.RUNNING),
            has_schedulable=JobState.SCHEDULABLE in project,
            in_flight=sum(state in COUNTED_IN_FLIGHT for state in stack),
            has_queued=JobState.QUEUED in stack,
        )

    def get_workloads(self, project_id: str, stack_ids: Collection[str]) -> Mapping[str, Workload]:
        """Return how much is under way in the project and in each of its stacks, by stack."""
        return {stack_id: self.get_workload(project_id, stack_id) for stack_id in stack_ids}

    def apply(
        self, ids: Collection[str], transition: JobTransition, **columns: Unpack[ResourceColumns]
    ) -> None:
        """Apply a transition to jobs, and set the same further columns of their rows."""
        self._check(ids, transition)
        for row in self._tables.resources_by_id(ids):
            values = {**transition.values, **columns, **transition.marked_timeline(row)}
            self._tables.update_resources([row.id], values)

    def apply_each(
        self, changes: Mapping[str, tuple[JobTransition, Mapping[str, object]]]
    ) -> None:
        """Apply transitions and set further columns by row."""
        for row_id, (transition, _columns) in changes.items():
            self._check([row_id], transition)
        self._tables.update_each_resource(
            {
                row_id: {**transition.values, **columns}
                for row_id, (transition, columns) in changes.items()
            }
        )
        for row in self._tables.resources_by_id(list(changes)):
            marked = changes[row.id][0].marked_timeline(row)
            self._tables.update_resources([row.id], marked)

    def apply_leased(
        self,
        resource_id: str,
        token: str,
        version: int,
        transition: JobTransition,
        columns: Mapping[str, object],
    ) -> bool:
        """Apply a transition if the row still has this lease token and version."""
        held = self._tables.has_lease(resource_id, token, version)
        if held:
            self.apply_each({resource_id: (transition, columns)})
        return held

    def repost(self, ids: Collection[str], now: datetime) -> None:
        """Make those of the jobs that are RUNNING POSTED again."""
        for row in self._tables.resources_by_id(ids):
            if row.job.state is JobState.RUNNING:
                self._save(job_transitions.repost(now).apply_to(row))

    def mark_complete(self, ids: Collection[str], now: datetime) -> None:
        """Mark resources COMPLETE and remove their jobs, leaving nothing to observe."""
        for row in self._tables.resources_by_id(ids):
            done = with_columns(
                job_transitions.settle(now).apply_to(row),
                status=Status.COMPLETE,
                job=None,
                updated_at=now,
                applied_hash=row.desired.definition_hash
                if row.job.verb in _APPLYING
                else row.physical.applied_hash,
                suspended=row.physical.suspended and row.job.verb not in _RESUMING,
            )
            self._save(done)

    def _check(self, ids: Collection[str], transition: JobTransition) -> None:
        """Raise ``IllegalTransition`` where SQL relies on the caller, so that tests find it."""
        for row in self._tables.resources_by_id(ids):
            transition.check(row.job.state)

    def _save(self, row: Resource) -> None:
        self._tables.resources[row.id] = row
