"""The SQL store: the ports of ``convergence.ports`` over one database.

Called by the API, the engines and the observers.  Every method is one
transaction or one statement of the files beside this one; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partialmethod
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import Resource, SavedStack, Service
from heat_convergence.convergence.ports import Sweepable, Transaction
from heat_convergence.db import events, goals, graph, resources, services, snapshots, stacks
from heat_convergence.db.engine import Database


class SqlTransaction:
    """``convergence.ports.Transaction`` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _call(self, statement: Any, /, *args: Any, **values: Any) -> Any:
        return statement(self._connection, *args, **values)

    lock_stack = partialmethod(_call, stacks.lock)
    get_stack = partialmethod(_call, stacks.get)
    stacks_below = partialmethod(_call, stacks.below)
    insert_stack = partialmethod(_call, stacks.insert)
    update_stack = partialmethod(_call, stacks.update)
    tags_of = partialmethod(_call, stacks.tags_of)

    insert_goal = partialmethod(_call, goals.insert)
    get_goal = partialmethod(_call, goals.get)
    prune_goals = partialmethod(_call, goals.prune)
    put_contents = partialmethod(_call, goals.put_contents)
    get_contents = partialmethod(_call, goals.get_contents)

    insert_snapshot = partialmethod(_call, snapshots.insert)
    get_snapshot = partialmethod(_call, snapshots.get)
    count_snapshots = partialmethod(_call, snapshots.count)
    finish_snapshot = partialmethod(_call, snapshots.finish)
    update_snapshot = partialmethod(_call, snapshots.update)
    delete_snapshot = partialmethod(_call, snapshots.delete)
    doom_snapshots = partialmethod(_call, snapshots.doom)
    erase_snapshots = partialmethod(_call, snapshots.erase)

    insert_resources = partialmethod(_call, resources.insert)
    claimable = partialmethod(_call, resources.claimable)
    lock_leased = partialmethod(_call, resources.lock_leased)
    lock_jobs = partialmethod(_call, resources.lock_jobs)
    lock_unfinished = partialmethod(_call, resources.lock_unfinished)
    lock_stack_resources = partialmethod(_call, resources.lock_of_stack)
    get_resources = partialmethod(_call, resources.get)
    stack_resources = partialmethod(_call, resources.of_stack)
    inputs = partialmethod(_call, resources.inputs)
    update_resources = partialmethod(_call, resources.update)
    save_resources = partialmethod(_call, resources.save)
    set_version = partialmethod(_call, resources.set_version)
    settle = partialmethod(_call, resources.settle)
    delete_resources = partialmethod(_call, resources.delete)
    held = partialmethod(_call, resources.held)
    count_tree = partialmethod(_call, resources.count_tree)
    purge_gone = partialmethod(_call, resources.purge_gone)
    erase_resources = partialmethod(_call, resources.erase)
    holding = partialmethod(_call, resources.holding)
    count_jobs = partialmethod(_call, resources.count_jobs)
    take_queued = partialmethod(_call, resources.take_queued)
    count_in_hand = partialmethod(_call, resources.count_in_hand)
    take_due = partialmethod(_call, resources.take_due)
    repost = partialmethod(_call, resources.repost)

    clear_graph = partialmethod(_call, graph.clear)
    add_edges = partialmethod(_call, graph.add)
    edges_at = partialmethod(_call, graph.at)
    unready_edges = partialmethod(_call, graph.all_unready)
    drop_edges = partialmethod(_call, graph.drop)
    unready_needs = partialmethod(_call, graph.unready_needs)
    unready = partialmethod(_call, graph.unready)
    mark_ready = partialmethod(_call, graph.mark_ready)
    freed_by = partialmethod(_call, graph.freed_by)
    touched_needs = partialmethod(_call, graph.touched_needs)
    any_unready = partialmethod(_call, graph.any_unready)
    ready_but_blocked = partialmethod(_call, graph.ready_but_blocked)
    retry_counts = partialmethod(_call, graph.retry_counts)
    count_retry = partialmethod(_call, graph.count_retry)

    insert_events = partialmethod(_call, events.insert)


class SqlStore:
    """``convergence.ports.Store`` on a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.database.write() as connection:
            yield SqlTransaction(connection)

    def lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[Sweepable]:
        with self.database.write() as connection:
            rows = resources.lost_jobs(connection, now, posted_before, limit)
        return [Sweepable(row.stack_id, row.version, row.id) for row in rows]

    def due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        with self.database.write() as connection:
            return resources.due_observations(connection, now, until, limit)

    def doomed_snapshots(
        self, now: datetime, until: datetime, limit: int
    ) -> list[SavedStack]:
        with self.database.write() as connection:
            return snapshots.doomed(connection, now, until, limit)

    def next_observation(self) -> datetime | None:
        with self.database.read() as connection:
            return resources.next_observation(connection)

    def overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.overdue(connection, now, limit)

    def unwanted_stacks(self, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.unwanted(connection, limit)

    def stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        with self.database.read() as connection:
            return stacks.stalled(connection, before, limit)

    def waiting_projects(self, before: datetime, limit: int) -> list[str]:
        with self.database.read() as connection:
            return stacks.waiting_projects(connection, before, limit)

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        with self.database.write() as connection:
            return resources.renew_leases(connection, owner, tokens, until)

    def beat(self, service: Service, now: datetime) -> None:
        with self.database.write() as connection:
            services.beat(connection, service, now)


