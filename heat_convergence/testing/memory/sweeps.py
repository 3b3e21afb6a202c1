"""Periodic searches and reports of workers in memory, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from functools import partial

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.lifecycle.nested.parent_notification import (
    is_nested_stack_cancelled,
)
from heat_convergence.convergence.model.job import COUNTED_IN_FLIGHT, JobRef, JobState
from heat_convergence.convergence.model.job_transitions import (
    end_lease,
    extend_lease,
    postpone_observation,
    repost,
    request_observation,
)
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import get_column
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import SweepRepository, WorkerRepository
from heat_convergence.testing.memory.quarantine.repository import is_due_for_retry
from heat_convergence.testing.memory.transaction import MemorySession

_POSTED_OR_RUNNING = frozenset({JobState.POSTED, JobState.RUNNING})


def is_lost(row: Resource, now: datetime, posted_before: datetime) -> bool:
    """Return whether the job of the resource must be posted again."""
    return (
        row.job.state in _POSTED_OR_RUNNING
        and row.job.posted_at is not None
        and row.job.posted_at < posted_before
        and row.observation.observe_at is None
        and (row.lease.expires_at is None or row.lease.expires_at < now)
    )


class MemorySweepRepository(SweepRepository):
    """Sweeps over dictionaries."""

    def __init__(self, session: MemorySession) -> None:
        """Use the tables of ``session``."""
        self._session = session

    def is_anything_due(self, now: datetime, before: datetime) -> bool:
        """Return whether a search of the sweep would find anything."""
        quarantined = self._session.tables.quarantine.values()
        return bool(
            self._find_lost_jobs(now, before, 1)
            or self.find_overdue_stacks(now, 1)
            or self.find_cancelled_nested_stacks(1)
            or self.find_stalled_stacks(before, 1)
            or self._find_snapshots_to_delete(now)
            or any(is_due_for_retry(each, now) for each in quarantined)
            or self.find_projects_with_schedulable_jobs(before, 1)
        )

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """Take POSTED and RUNNING jobs without a live lease, posted before that time."""
        with self._session.transaction() as tx:
            rows = self._find_lost_jobs(now, posted_before, limit)
            if rows:
                tx.jobs.apply([row.id for row in rows], repost(now))
        return [JobRef(row.stack_id, row.job.version, row.id) for row in rows]

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Take resources whose ``observe_at`` has come, and postpone it to ``until``."""

        def is_due(row: Resource) -> bool:
            """Return whether the time of the observation has come."""
            return row.observation.observe_at is not None and row.observation.observe_at <= now

        with self._session.transaction() as tx:
            ids = [row.id for row in self._first(is_due, "observe_at", limit)]
            if ids:
                tx.jobs.apply(ids, postpone_observation(until))
            return tx.resources.get(ids)

    def advance_observations(self, hints: ChangeHints, now: datetime, limit: int) -> int:
        """Make resources due that wait for an observation, and to which hints apply."""

        def is_hinted(row: Resource) -> bool:
            """Return whether the resource waits for a later observation, and a hint applies."""
            type_ = (row.identity.project_id, row.desired.implementation)
            return (
                row.job.state is JobState.AWAITING_OBSERVATION
                and row.observation.observe_at is not None
                and row.observation.observe_at > now
                and (row.physical.id in hints.physical_ids or type_ in hints.types)
            )

        with self._session.transaction() as tx:
            ids = [row.id for row in self._first(is_hinted, "observe_at", limit)]
            tx.jobs.apply(ids, request_observation(now))
        return len(ids)

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        """Take snapshots whose ``delete_at`` has come, and postpone it to ``until``."""
        with self._session.transaction() as tx:
            due = self._find_snapshots_to_delete(now)[:limit]
            for snapshot in due:
                tx.snapshots.update(snapshot.id, delete_at=until)
        return due

    def get_next_observation_time(self) -> datetime | None:
        """Return the earliest ``observe_at`` of all resources."""
        rows = self._session.tables.resources.values()
        return min(
            (row.observation.observe_at for row in rows if row.observation.observe_at is not None),
            default=None,
        )

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS stacks whose deadline has passed."""
        overdue = [
            (stack.deadline_at, stack.id)
            for stack in self._stacks_in_progress()
            if stack.deadline_at is not None and stack.deadline_at <= now
        ]
        return [stack_id for _deadline, stack_id in sorted(overdue)[:limit]]

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS nested stacks that their parents have cancelled."""

        def is_cancelled(stack: Stack) -> bool:
            """Return whether the parent has cancelled the stack."""
            row = self._session.tables.resources.get(stack.owner_resource_id or "")
            return (
                row is not None and row.physical.id == stack.id and is_nested_stack_cancelled(row)
            )

        found = [stack.id for stack in self._stacks_in_progress() if is_cancelled(stack)]
        return sorted(found)[:limit]

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        """Return (id, version) of IN_PROGRESS stacks without a job in flight or SCHEDULABLE."""
        rows = self._session.tables.resources.values()
        busy = {
            row.stack_id
            for row in rows
            if row.job.state in COUNTED_IN_FLIGHT or row.job.state == JobState.AT_BREAKPOINT
        }
        read = {row.stack_id for row in rows if row.observation.observe_at is not None}
        busy |= {stack.id for stack in self._stacks_in_progress() if stack.stabilizing} & read
        stalled = [
            (stack.id, stack.version)
            for stack in self._stacks_in_progress()
            if stack.started_at is not None and stack.started_at < before and stack.id not in busy
        ]
        return sorted(stalled)[:limit]

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        """Return ids of projects with stacks in progress and jobs SCHEDULABLE too long."""
        stacks = self._session.tables.stacks
        waiting = {
            stacks[row.stack_id].project_id
            for row in self._session.tables.resources.values()
            if row.job.state is JobState.SCHEDULABLE
            and row.job.posted_at is not None
            and row.job.posted_at < before
            and stacks[row.stack_id].in_progress
        }
        return sorted(waiting)[:limit]

    def _find_lost_jobs(
        self, now: datetime, posted_before: datetime, limit: int
    ) -> list[Resource]:
        lost = partial(is_lost, now=now, posted_before=posted_before)
        return self._first(lost, "posted_at", limit)

    def _find_snapshots_to_delete(self, now: datetime) -> list[Snapshot]:
        return [
            snapshot
            for _id, snapshot in sorted(self._session.tables.snapshots.items())
            if snapshot.delete_at is not None and snapshot.delete_at <= now
        ]

    def _first(self, matches: Callable[[Resource], bool], key: str, limit: int) -> list[Resource]:
        rows = [row for row in self._session.tables.resources.values() if matches(row)]
        return sorted(rows, key=lambda row: get_column(row, key))[:limit]

    def _stacks_in_progress(self) -> list[Stack]:
        return [stack for stack in self._session.tables.stacks.values() if stack.in_progress]


class MemoryWorkerRepository(WorkerRepository):
    """Reports of worker processes in dictionaries."""

    def __init__(self, session: MemorySession) -> None:
        """Use the tables of ``session``."""
        self._session = session

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        """Extend the owner's leases of these tokens; return the number of rows."""
        with self._session.transaction() as tx:
            ids = [
                row.id
                for row in self._session.tables.resources.values()
                if row.lease.owner == owner and row.lease.token in tokens
            ]
            tx.jobs.apply(ids, extend_lease(until))
        return len(ids)

    def take_jobs_of_ended(
        self, owners: Collection[str], now: datetime, limit: int
    ) -> list[JobRef]:
        """End leases of workers whose processes have ended, and take their jobs."""
        with self._session.transaction() as tx:
            rows = [
                row
                for _id, row in sorted(self._session.tables.resources.items())
                if row.lease.owner in owners and row.lease.is_active(now)
            ][:limit]
            ids = [row.id for row in rows]
            tx.jobs.apply(ids, end_lease(now))
            tx.jobs.repost(ids, now)
        return [JobRef(row.stack_id, row.job.version, row.id) for row in rows]

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        """Record that the worker process was alive at ``now``."""
        with self._session.transaction():
            services = self._session.tables.services
            known = services.get(service.id, service)
            services[service.id] = replace(
                known, updated_at=now, endpoint_states=service.endpoint_states
            )

    def remove_worker(self, worker_id: str) -> None:
        """Remove the record of a worker process that ends orderly."""
        with self._session.transaction():
            self._session.tables.services.pop(worker_id, None)
