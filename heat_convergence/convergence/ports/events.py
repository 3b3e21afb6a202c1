"""The port to events, as users list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heat_convergence.convergence.model.event import Event


class EventRepository(Protocol):
    """Events of stacks and resources."""

    def insert(self, events: Sequence[Event]) -> None:
        """Insert events; those of stacks are announced once the transaction is committed."""
