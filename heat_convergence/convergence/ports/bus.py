"""The port to the message bus between the daemons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Bus(Protocol):
    """A sender of hints: messages may be lost, doubled, late or out of order (RULE 1)."""

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask any engine to run the posted jobs of these resources."""

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Ask any observer to look at these resources."""
