"""What whoever is notified of a commit is told: events, and whose stacks they are of.

Made by the store, taken by ``rpc.notifications``; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class ParentResource:
    """The resource that an updated stack is behind, with its stack's id; ``members`` of
    the stack behind it have not failed."""

    stack_id: str
    data: Mapping[str, Json]
    healthy_members: int


@dataclass(frozen=True, slots=True)
class NotificationEvent:
    """An event of a stack's own; ``owner`` of an update below another stack."""

    event: Event
    parent: ParentResource | None = None


NotifyCallback = Callable[[Sequence[NotificationEvent]], None]
