"""The SQL store: the ports of ``convergence.ports`` over one database.

Called by the API, the engines and the observers.  Every method is one
transaction or one statement of the files beside this one; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partialmethod
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.notification_events import (
    NotificationEvent,
    NotifyCallback,
)
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.ports import JobRef, Transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import (
    breakpoints,
    events,
    goals,
    graph,
    job_queue,
    notification_events,
    resources,
    services,
    snapshots,
    stacks,
    sweeps,
)


class SqlTransaction:
    """``convergence.ports.Transaction`` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.stack_events: list[Event] = []  # of stacks themselves

    def _call(self, statement: Any, /, *args: Any, **values: Any) -> Any:
        return statement(self._connection, *args, **values)

    lock_stack = partialmethod(_call, stacks.lock)
    get_stack = partialmethod(_call, stacks.get)
    get_stacks = partialmethod(_call, stacks.get_many)
    get_stack_with_workload = partialmethod(_call, job_queue.get_stack_with_workload)
    get_descendant_stacks = partialmethod(_call, stacks.get_descendants)
    insert_stack = partialmethod(_call, stacks.insert)
    update_stack = partialmethod(_call, stacks.update)
    get_tags = partialmethod(_call, stacks.get_tags)

    insert_goal = partialmethod(_call, goals.insert)
    get_goal = partialmethod(_call, goals.get)
    get_goal_row = partialmethod(_call, goals.get_row)
    get_goal_rows = partialmethod(_call, goals.get_rows)
    delete_goals_except = partialmethod(_call, goals.delete_except)
    put_contents = partialmethod(_call, goals.put_contents)
    get_contents = partialmethod(_call, goals.get_contents)

    insert_snapshot = partialmethod(_call, snapshots.insert)
    get_snapshot = partialmethod(_call, snapshots.get)
    count_snapshots = partialmethod(_call, snapshots.count)
    finish_snapshot = partialmethod(_call, snapshots.update_by_traversal)
    update_snapshot = partialmethod(_call, snapshots.update)
    delete_snapshot = partialmethod(_call, snapshots.delete)
    schedule_snapshot_deletion = partialmethod(_call, snapshots.schedule_deletion)
    delete_stack_snapshots = partialmethod(_call, snapshots.delete_by_stack)

    insert_resources = partialmethod(_call, resources.insert)
    lock_claimable = partialmethod(_call, resources.lock_claimable)
    lock_leased = partialmethod(_call, resources.lock_leased)
    save_leased = partialmethod(_call, resources.update_leased)
    lock_resources = partialmethod(_call, resources.lock_resources)
    lock_resources_with_jobs = partialmethod(_call, resources.lock_resources_with_jobs)
    lock_stack_resources = partialmethod(_call, resources.lock_by_stack)
    get_resources = partialmethod(_call, resources.get)
    get_stack_resources = partialmethod(_call, resources.get_by_stack)
    get_inputs = partialmethod(_call, resources.get_inputs)
    update_resources = partialmethod(_call, resources.update)
    save_resources = partialmethod(_call, resources.update_each)
    set_resource_versions = partialmethod(_call, resources.set_resource_versions)
    mark_complete = partialmethod(_call, resources.mark_complete)
    delete_resources = partialmethod(_call, resources.delete)
    find_breakpoint_locations = partialmethod(_call, breakpoints.find_breakpoint_locations)
    list_ancestor_resources = partialmethod(_call, breakpoints.list_ancestor_resources)
    count_tree_resources = partialmethod(_call, resources.count_tree_resources)
    delete_absent_resources = partialmethod(_call, resources.delete_absent_resources)
    delete_stack_resources = partialmethod(_call, resources.delete_by_stack)
    find_physical_dependents = partialmethod(_call, resources.find_physical_dependents)
    any_status_reason_startswith = partialmethod(_call, resources.any_status_reason_startswith)
    list_incarnations = partialmethod(_call, resources.list_incarnations)
    next_queued = partialmethod(_call, job_queue.next_queued)
    get_workload = partialmethod(_call, job_queue.get_workload)
    next_schedulable = partialmethod(_call, job_queue.next_schedulable)
    repost_jobs = partialmethod(_call, job_queue.repost_jobs)

    clear_graph = partialmethod(_call, graph.delete_by_stack)
    add_edges = partialmethod(_call, graph.add_edges)
    add_physical_dependencies = partialmethod(_call, graph.add_physical_dependencies)
    get_edges_at = partialmethod(_call, graph.get_edges_at)
    get_unready_edges = partialmethod(_call, graph.get_unready_edges)
    delete_edges = partialmethod(_call, graph.delete_edges)
    find_with_unready_requirements = partialmethod(_call, graph.find_with_unready_requirements)
    find_unready = partialmethod(_call, graph.find_unready)
    mark_ready = partialmethod(_call, graph.mark_ready)
    find_unblocked_by = partialmethod(_call, graph.find_unblocked_by)
    find_with_touched_requirements = partialmethod(_call, graph.find_with_touched_requirements)
    has_unready = partialmethod(_call, graph.has_unready)
    find_wrongly_blocked = partialmethod(_call, graph.find_wrongly_blocked)
    get_retry_counts = partialmethod(_call, graph.get_retry_counts)
    increment_retry_counts = partialmethod(_call, graph.increment_retry_counts)

    def insert_events(self, new: Sequence[Event]) -> None:
        self.stack_events += [event for event in new if event.physical_id == event.stack_id]
        events.insert(self._connection, new)


class SqlStore:
    """``convergence.ports.Store`` on a database.

    ``told`` is called with notices of stacks' own events, once they are committed; it must
    not raise, lest what is committed be done again.
    """

    def __init__(self, database: Database, notify: NotifyCallback | None = None) -> None:
        self.database = database
        self._told = notify

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.database.write() as connection:
            tx = SqlTransaction(connection)
            yield tx
            new: list[NotificationEvent] = []
            if self._told is not None and tx.stack_events:
                new = notification_events.get_notification_events(connection, tx.stack_events)
        if self._told is not None and new:
            self._told(new)

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        with self.database.write() as connection:
            rows = sweeps.take_lost_jobs(connection, now, posted_before, limit)
        return [JobRef(row.stack_id, row.version, row.id) for row in rows]

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        with self.database.write() as connection:
            return sweeps.take_due_observations(connection, now, until, limit)

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        with self.database.write() as connection:
            return snapshots.claim_due_deletions(connection, now, until, limit)

    def get_next_observation_time(self) -> datetime | None:
        with self.database.read() as connection:
            return sweeps.get_next_observation_time(connection)

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.get_overdue(connection, now, limit)

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.get_cancelled_nested(connection, limit)

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        with self.database.read() as connection:
            return stacks.get_stalled(connection, before, limit)

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.find_projects_with_schedulable_jobs(connection, before, limit)

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        with self.database.write() as connection:
            return sweeps.renew_leases(connection, owner, tokens, until)

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        with self.database.write() as connection:
            services.record_heartbeat(connection, service, now)
