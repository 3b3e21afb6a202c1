"""What whoever is notified of a commit is told: events, and whose stacks they are of.

Made by the store, taken by ``rpc.notifications``; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.model import Event, Json


@dataclass(frozen=True, slots=True)
class Owner:
    """The resource that an updated stack is behind, with its stack's id; ``members`` of
    the stack behind it have not failed."""

    stack_id: str
    data: Mapping[str, Json]
    members: int


@dataclass(frozen=True, slots=True)
class Notice:
    """An event of a stack's own; ``owner`` of an update below another stack."""

    event: Event
    owner: Owner | None = None


Told = Callable[[Sequence[Notice]], None]
