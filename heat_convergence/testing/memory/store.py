"""The in-memory store: the ports of ``convergence.ports`` on dictionaries.

The obviously correct twin of ``db.store``: every verb is a loop over all rows.
Used by the simulator and by units; the contract suite holds both stores to the
same answers.  It must not be cleverer than its reader.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from heat_convergence.convergence.lifecycle.parent_notification import is_nested_stack_cancelled
from heat_convergence.convergence.model.job import IN_FLIGHT, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports import JobRef
from heat_convergence.testing.memory.tables import MemoryTables
from heat_convergence.testing.memory.transaction import POSTED_OR_RUNNING, MemoryTransaction


class MemoryStore:
    """``convergence.ports.Store`` on dictionaries, one transaction at a time."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self._guard = threading.Lock()
        self._inside: int | None = None

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        if self._inside == threading.get_ident():
            raise RuntimeError("a transaction is not begun inside another")
        with self._guard:
            self._inside = threading.get_ident()
            before = self.tables.copy()
            try:
                yield MemoryTransaction(self.tables)
            except BaseException:
                self.tables = before
                raise
            finally:
                self._inside = None

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        def lost(row: Resource) -> bool:
            return (
                row.job_state in POSTED_OR_RUNNING
                and row.posted_at is not None
                and row.posted_at < posted_before
                and row.observe_at is None
                and (row.lease_expires_at is None or row.lease_expires_at < now)
            )

        with self.transaction() as tx:
            rows = self._first(lost, "posted_at", limit)
            ids = [row.id for row in rows]
            tx.update_resources(ids, job_state=JobState.POSTED, posted_at=now)
        return [JobRef(row.stack_id, row.version, row.id) for row in rows]

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        def due(row: Resource) -> bool:
            return row.observe_at is not None and row.observe_at <= now

        with self.transaction() as tx:
            ids = [row.id for row in self._first(due, "observe_at", limit)]
            tx.update_resources(ids, observe_at=until)
            return tx.get_resources(ids)

    def _first(self, wanted: Any, key: str, limit: int) -> list[Resource]:
        rows = [row for row in self.tables.resources.values() if wanted(row)]
        return sorted(rows, key=lambda row: getattr(row, key))[:limit]

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        with self.transaction() as tx:
            due = [
                saved
                for _id, saved in sorted(self.tables.snapshots.items())
                if saved.delete_at is not None and saved.delete_at <= now
            ]
            for saved in due[:limit]:
                tx.update_snapshot(saved.id, delete_at=until)
        return due[:limit]

    def get_next_observation_time(self) -> datetime | None:
        rows = self.tables.resources.values()
        return min((row.observe_at for row in rows if row.observe_at is not None), default=None)

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        overdue = [
            (stack.deadline_at, stack.id)
            for stack in self.tables.stacks.values()
            if stack.in_progress and stack.deadline_at is not None and stack.deadline_at <= now
        ]
        return [stack_id for _deadline, stack_id in sorted(overdue)[:limit]]

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        def unwanted(stack: Stack) -> bool:
            row = self.tables.resources.get(stack.owner_resource_id or "")
            return (
                row is not None and row.physical_id == stack.id and is_nested_stack_cancelled(row)
            )

        stacks = self.tables.stacks.values()
        found = [stack.id for stack in stacks if stack.in_progress and unwanted(stack)]
        return sorted(found)[:limit]

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        busy = {
            row.stack_id
            for row in self.tables.resources.values()
            if row.job_state in IN_FLIGHT or row.job_state == JobState.AT_BREAKPOINT
        }
        stalled = [
            (stack.id, stack.version)
            for stack in self.tables.stacks.values()
            if stack.in_progress
            and stack.started_at is not None
            and stack.started_at < before
            and stack.id not in busy
        ]
        return sorted(stalled)[:limit]

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        stacks = self.tables.stacks
        waiting = {
            stacks[row.stack_id].project_id
            for row in self.tables.resources.values()
            if row.job_state is JobState.SCHEDULABLE
            and row.posted_at is not None
            and row.posted_at < before
            and stacks[row.stack_id].in_progress
        }
        return sorted(waiting)[:limit]

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        with self.transaction() as tx:
            ids = [
                row.id
                for row in self.tables.resources.values()
                if row.lease_owner == owner and row.lease_token in tokens
            ]
            tx.update_resources(ids, lease_expires_at=until)
        return len(ids)

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        with self.transaction():
            known = self.tables.services.get(service.id, service)
            self.tables.services[service.id] = replace(known, updated_at=now)
