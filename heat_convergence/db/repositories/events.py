"""Events in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.ports.events import EventRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import events as statements


class SqlEventRepository(SqlRepository, EventRepository):
    """Events on a database connection; those of stacks are kept for ``SqlStore`` to announce."""

    def __init__(self, connection: Connection) -> None:
        """Start without stack events."""
        super().__init__(connection)
        self.stack_events: list[Event] = []

    def insert(self, events: Sequence[Event]) -> None:
        """Insert events; those of stacks are announced once the transaction is committed."""
        self.stack_events += [event for event in events if event.physical_id == event.stack_id]
        statements.insert(self._connection, events)
