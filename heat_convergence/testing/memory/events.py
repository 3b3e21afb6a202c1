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
        self._tables.events.extend(map(_sanitize_reason, events))


def _sanitize_reason(event: Event) -> Event:
    reason = sanitize_text(event.reason)
    return event if reason == event.reason else replace(event, reason=reason)
