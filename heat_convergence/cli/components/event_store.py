"""A store that hands the events of every commit to the process's dispatcher.

Built by ``assembly`` and by the offline service. Decides nothing: what is not committed is not
handed on, and what the dispatcher raises is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Unpack

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import Workload
from heat_convergence.convergence.model.notification_events import NotifyCallback
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.stacks import StackColumns
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import event_sinks, stacks
from heat_convergence.db.reads.stacks import StackFilter
from heat_convergence.db.repositories.events import DeferredEvents
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.db.store import SqlStore, SqlTransaction
from heat_convergence.resources.protocol.verb_values import CloudFactory
from heat_convergence.stacks.event_sinks.event_dispatcher import CommittedGoals, DispatchSources
from heat_convergence.stacks.event_sinks.goal_sinks import Sinks

EventCallback = Callable[[Sequence[Event], CommittedGoals], object]
"""Function of events, and of the goals of their stacks as far as they are known."""


class _RecordingEvents(DeferredEvents):
    """Events that are also kept until the commit."""

    def __init__(self, events: DeferredEvents) -> None:
        super().__init__(events._connection)
        self.inserted: list[Event] = []

    def insert(self, events: Sequence[Event]) -> None:
        """Insert events, and keep them."""
        super().insert(events)
        self.inserted += events


class _RecordingStacks(SqlStackRepository):
    """Stacks whose goals are also kept until the commit, by the id of the stack."""

    def __init__(self, stacks: SqlStackRepository) -> None:
        super().__init__(stacks._connection)
        self.goals: dict[str, str] = {}

    def lock(self, stack_id: str) -> Stack | None:
        """Lock and return the stack, and keep its goal."""
        return self._keep_goal(super().lock(stack_id))

    def lock_with_resources(
        self, named: Mapping[str, Collection[str]]
    ) -> list[tuple[Stack, list[Resource]]]:
        """Lock and return stacks and resources of them, and keep the goals."""
        found = super().lock_with_resources(named)
        for stack, _rows in found:
            self._keep_goal(stack)
        return found

    def get(self, stack_id: str) -> Stack | None:
        """Return the stack, and keep its goal."""
        return self._keep_goal(super().get(stack_id))

    def get_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """Return the stack and its project's workload, and keep its goal."""
        found = super().get_with_workload(stack_id)
        if found is not None:
            self._keep_goal(found[0])
        return found

    def remember(self, stack: Stack) -> None:
        """Keep the goal of a stack that was read before."""
        self._keep_goal(stack)

    def insert(self, *stacks: Stack) -> None:
        """Insert stacks, and keep their goals."""
        super().insert(*stacks)
        for stack in stacks:
            self._keep_goal(stack)

    def update(self, stack_id: str, **values: Unpack[StackColumns]) -> None:
        """Set columns, and keep a new goal."""
        super().update(stack_id, **values)
        if "goal_id" in values:
            self.goals[stack_id] = values["goal_id"]

    def _keep_goal(self, stack: Stack | None) -> Stack | None:
        if stack is not None:
            self.goals[stack.id] = stack.goal_id
        return stack


class _RecordingGoals(SqlGoalRepository):
    """Goals of which the hashes of their common parts are also kept until the commit."""

    def __init__(self, goals: SqlGoalRepository) -> None:
        super().__init__(goals._connection)
        self.common_parts: dict[str, str] = {}

    def insert(self, *goals: Goal) -> None:
        """Insert goals, and keep the hashes of their common parts."""
        super().insert(*goals)
        for goal in goals:
            if goal.common_part_hash is not None:
                self.common_parts[goal.id] = goal.common_part_hash


class EventForwardingStore(SqlStore):
    """A store that calls ``forward`` with the events of every commit."""

    def __init__(
        self,
        database: Database,
        notify: NotifyCallback | None = None,
        errors: ErrorLog | None = None,
        *,
        forward: EventCallback,
    ) -> None:
        """Open a store as ``SqlStore`` does."""
        super().__init__(database, notify, errors)
        self._forward = forward
        self._forward_boundary = ErrorBoundary(BoundaryName.NOTIFICATION, errors or ErrorLog())

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction, and hand on its events after the commit."""
        inserted: list[Event] = []
        known = CommittedGoals()
        with super().transaction() as tx:
            if isinstance(tx, SqlTransaction):
                events, stacks_of_tx = _RecordingEvents(tx.events), _RecordingStacks(tx.stacks)
                goals = _RecordingGoals(tx.goals)
                tx.events, tx.stacks, tx.goals = events, stacks_of_tx, goals
                inserted = events.inserted
                known = CommittedGoals(stacks_of_tx.goals, goals.common_parts)
            yield tx
        if inserted:
            self._forward_boundary.contain(partial(self._forward, inserted, known))


def create_dispatch_sources(database: Database, cloud_of: CloudFactory) -> DispatchSources:
    """Return what the dispatcher of events reads from a database."""

    def load_stacks(stack_ids: Sequence[str]) -> dict[str, Stack]:
        with database.read() as connection:
            found = stacks.list_page(
                connection,
                StackFilter(None, nested=True, deleted=True, matches={"id": stack_ids}),
            )
        return {each.id: each for each in found}

    def find_common_parts(goal_ids: Collection[str]) -> Mapping[str, str]:
        with database.read() as connection:
            return event_sinks.find_common_parts(connection, goal_ids)

    def load_sinks(common_parts: Collection[str]) -> Mapping[str, Sinks]:
        with database.read() as connection:
            return event_sinks.load_sinks(connection, common_parts)

    return DispatchSources(load_stacks, find_common_parts, load_sinks, cloud_of)
