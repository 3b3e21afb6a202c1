"""Events of a commit as notifications need them.

Made by the store and published by ``rpc.notifications``; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class NestedStackOwner:
    """The resource of the parent stack that owns an updated nested stack.

    Attributes:
        stack_id: the parent stack.
        data: the data of the resource.
        healthy_members: number of the nested stack's resources that have not failed.
    """

    stack_id: str
    data: Mapping[str, Json]
    healthy_members: int


@dataclass(frozen=True, slots=True)
class NotificationEvent:
    """An event of a stack; ``parent`` is set for an update of a nested stack."""

    event: Event
    parent: NestedStackOwner | None = None


NotifyCallback = Callable[[Sequence[NotificationEvent]], None]
