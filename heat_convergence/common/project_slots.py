"""Slots for work that projects share fairly.

Called where a process does little at a time, as the work takes its memory or its processor, and
must not be taken by one project.  Decides whose work is next.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


class NoSlotInTime(Exception):
    """No slot was free within the time of a caller."""


@dataclass(eq=False, slots=True)
class _Ticket:
    """A wait for a slot."""

    project_id: str | None
    granted: threading.Event = field(default_factory=threading.Event)


class ProjectSlots:
    """A number of slots, of which no project can take all.

    A free slot goes to the project that holds the fewest, of equals to the one that has waited
    longest.  With more than one slot, a project leaves one to the others, so that they need not
    wait for its work to end.  Work without a project is that of commands, and may use all.
    """

    def __init__(self, size: int) -> None:
        self._free = self._size = size
        self._held: Counter[str | None] = Counter()
        self._waiting: list[_Ticket] = []
        self._guard = threading.Lock()

    @contextmanager
    def hold(self, project_id: str | None, timeout_s: float | None = None) -> Iterator[None]:
        """Wait for a slot, and hold it in the block.

        Raises:
            NoSlotInTime: There was none within the time.
        """
        ticket = _Ticket(project_id)
        with self._guard:
            self._waiting.append(ticket)
            self._grant()
        try:
            if not ticket.granted.wait(timeout_s):
                raise NoSlotInTime
            yield
        finally:
            self._release(ticket)

    def held_by(self, project_id: str | None) -> int:
        """Return how many slots the project holds."""
        with self._guard:
            return self._held[project_id]

    def _release(self, ticket: _Ticket) -> None:
        """Free the slot of a ticket, or forget one whose wait was interrupted."""
        with self._guard:
            if ticket.granted.is_set():
                self._free += 1
                self._held[ticket.project_id] -= 1
                if not self._held[ticket.project_id]:
                    del self._held[ticket.project_id]
            else:
                self._waiting.remove(ticket)
            self._grant()

    def _grant(self) -> None:
        """Grant free slots to tickets, while there are both."""
        while self._free and (ticket := self._next()) is not None:
            self._waiting.remove(ticket)
            self._free -= 1
            self._held[ticket.project_id] += 1
            ticket.granted.set()

    def _next(self) -> _Ticket | None:
        allowed = [
            each for each in self._waiting if self._held[each.project_id] < self._limit(each)
        ]
        return min(allowed, key=lambda each: self._held[each.project_id], default=None)

    def _limit(self, ticket: _Ticket) -> int:
        """Return how many slots the ticket's project may hold."""
        return self._size if ticket.project_id is None else max(1, self._size - 1)
