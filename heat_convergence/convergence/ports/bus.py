"""The port to the message bus between the daemons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ResourceHint:
    """A hint that these resources of this traversal have work to do."""

    stack_id: str
    version: int
    resource_ids: tuple[str, ...]


def shown_stacks(hints: Sequence[ResourceHint]) -> str:
    """Return the ids of the stacks, for log lines."""
    return ",".join(hint.stack_id for hint in hints)


def shown_versions(hints: Sequence[ResourceHint]) -> str:
    """Return the versions of the stacks, for log lines."""
    return ",".join(str(hint.version) for hint in hints)


class Bus(Protocol):
    """A sender of hints: messages may be lost, doubled, late or out of order (RULE 1)."""

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Ask any engine to run the posted jobs of resources, of several stacks in one message.

        The stacks are of one project, and none of them is named twice.
        """

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Ask any observer to look at resources, of several stacks in one message.

        A hint that names no resource is about its stack, and in a message of its own.
        """
