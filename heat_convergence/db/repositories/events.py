"""Events in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.ports.events import EventRepository
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.inserts import insert_rows
from heat_convergence.db.tables import event as event_table

_FIELDS = Event.__slots__


class SqlEventRepository(SqlRepository, EventRepository):
    """Events on a database connection; those of stacks are kept for ``SqlStore`` to announce."""

    def __init__(self, connection: Connection) -> None:
        """Start without stack events."""
        super().__init__(connection)
        self.stack_events: list[Event] = []

    def insert(self, events: Sequence[Event]) -> None:
        """Insert events; those of stacks are announced once the transaction is committed.

        Long values become contents, sensitive ones are encrypted.
        """
        if not events:
            return
        self.stack_events += [event for event in events if event.physical_id == event.stack_id]
        rows = [{name: getattr(event, name) for name in _FIELDS} for event in events]
        value_dedup.store_shared(self._connection, rows)
        insert_rows(self._connection, event_table, [_with_encryption(row) for row in rows])


class DeferredEvents(SqlEventRepository):
    """Events of one transaction, which no step of it reads: one statement before the commit."""

    def __init__(self, connection: Connection) -> None:
        """Start without events."""
        super().__init__(connection)
        self._deferred: list[Event] = []

    def insert(self, events: Sequence[Event]) -> None:
        """Keep events until the end of the transaction."""
        self._deferred += events

    def insert_deferred(self) -> None:
        """Insert the events, as the last thing that the transaction writes."""
        events, self._deferred = self._deferred, []
        super().insert(events)


def _with_encryption(columns: dict[str, Any]) -> dict[str, Any]:
    if columns["sensitive"] and columns["properties"] is not None:
        columns["properties"] = SensitiveValue(columns["properties"])
    return columns
