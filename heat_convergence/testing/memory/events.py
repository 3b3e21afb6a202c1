"""Events in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heat_convergence.common.sanitization import sanitize_text
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.ports.events import EventRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryEventRepository(MemoryRepository, EventRepository):
    """Events in a list."""

    def insert(self, events: Sequence[Event]) -> None:
        """Insert events, their reasons as a text column returns them."""
        self._tables.events.extend(
            replace(event, reason=sanitize_text(event.reason)) for event in events
        )
