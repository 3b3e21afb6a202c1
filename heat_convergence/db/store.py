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

from heat_convergence.convergence.model import Event, Resource, SavedStack, Service
from heat_convergence.convergence.notices import Notice, Told
from heat_convergence.convergence.ports import Sweepable, Transaction
from heat_convergence.db import (
    breakpoints,
    events,
    goals,
    graph,
    notices,
    resources,
    services,
    snapshots,
    stacks,
    sweeps,
    turns,
)
from heat_convergence.db.engine import Database


class SqlTransaction:
    """``convergence.ports.Transaction`` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.stack_events: list[Event] = []  # of stacks themselves

    def _call(self, statement: Any, /, *args: Any, **values: Any) -> Any:
        return statement(self._connection, *args, **values)

    lock_stack = partialmethod(_call, stacks.lock)
    get_stack = partialmethod(_call, stacks.get)
    get_stacks = partialmethod(_call, stacks.get_all)
    stack_at_work = partialmethod(_call, turns.stack_at_work)
    stacks_below = partialmethod(_call, stacks.below)
    insert_stack = partialmethod(_call, stacks.insert)
    update_stack = partialmethod(_call, stacks.update)
    tags_of = partialmethod(_call, stacks.tags_of)

    insert_goal = partialmethod(_call, goals.insert)
    get_goal = partialmethod(_call, goals.get)
    lean_goal = partialmethod(_call, goals.lean)
    lean_goals = partialmethod(_call, goals.lean_all)
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
    save_leased = partialmethod(_call, resources.save_leased)
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
    places = partialmethod(_call, breakpoints.places)
    owners_above = partialmethod(_call, breakpoints.owners_above)
    count_tree = partialmethod(_call, resources.count_tree)
    purge_gone = partialmethod(_call, resources.purge_gone)
    erase_resources = partialmethod(_call, resources.erase)
    holding = partialmethod(_call, resources.holding)
    any_says = partialmethod(_call, resources.any_says)
    incarnations = partialmethod(_call, resources.incarnations)
    take_queued = partialmethod(_call, turns.take_queued)
    workload = partialmethod(_call, turns.workload)
    take_due = partialmethod(_call, turns.take_due)
    repost = partialmethod(_call, turns.repost)

    clear_graph = partialmethod(_call, graph.clear)
    add_edges = partialmethod(_call, graph.add)
    add_holds = partialmethod(_call, graph.add_holds)
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

    def insert_events(self, new: Sequence[Event]) -> None:
        self.stack_events += [event for event in new if event.physical_id == event.stack_id]
        events.insert(self._connection, new)


class SqlStore:
    """``convergence.ports.Store`` on a database.

    ``told`` is called with notices of stacks' own events, once they are committed; it must
    not raise, lest what is committed be done again.
    """

    def __init__(self, database: Database, told: Told | None = None) -> None:
        self.database = database
        self._told = told

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.database.write() as connection:
            tx = SqlTransaction(connection)
            yield tx
            new: list[Notice] = []
            if self._told is not None and tx.stack_events:
                new = notices.of(connection, tx.stack_events)
        if self._told is not None and new:
            self._told(new)

    def lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[Sweepable]:
        with self.database.write() as connection:
            rows = sweeps.lost_jobs(connection, now, posted_before, limit)
        return [Sweepable(row.stack_id, row.version, row.id) for row in rows]

    def due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        with self.database.write() as connection:
            return sweeps.due_observations(connection, now, until, limit)

    def doomed_snapshots(
        self, now: datetime, until: datetime, limit: int
    ) -> list[SavedStack]:
        with self.database.write() as connection:
            return snapshots.doomed(connection, now, until, limit)

    def next_observation(self) -> datetime | None:
        with self.database.read() as connection:
            return sweeps.next_observation(connection)

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
            return sweeps.renew_leases(connection, owner, tokens, until)

    def beat(self, service: Service, now: datetime) -> None:
        with self.database.write() as connection:
            services.beat(connection, service, now)


