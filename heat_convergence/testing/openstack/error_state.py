"""Error states and delays of new resources of the emulated services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource

Json = Any


@dataclass(slots=True)
class ErrorState:
    """The error state of the next ``remaining`` new resources of an entity.

    Attributes:
        changes: The body's changes in the error state.
        after_s: Seconds from the creation to the error state; ``busy`` is shown until then.
        is_delay: Whether the resource has its usual state then, instead of the error state.
    """

    entity: str
    changes: Mapping[str, Json]
    remaining: int = 1
    after_s: float = 0.0
    busy: Mapping[str, Json] = field(default_factory=dict)
    is_delay: bool = False
    created: list[EmulatedResource] = field(default_factory=list)

    def watch(self, item: EmulatedResource) -> None:
        """Note a new resource that is to fail."""
        self.remaining -= 1
        self.created.append(item)

    def apply(self, now_s: float) -> None:
        """Give the resources that the last request created their states."""
        for item in self.created:
            changes = self._usual_state(item) if self.is_delay else self.changes
            item.body.update(self.busy if self.after_s else changes)
            item.scheduled_changes = [(now_s + self.after_s, changes)] if self.after_s else []
        self.created.clear()

    def _usual_state(self, item: EmulatedResource) -> Mapping[str, Json]:
        """Return what ``busy`` hides, and what the service has scheduled."""
        usual = {key: item.body.get(key) for key in self.busy}
        for _at_s, changes in item.scheduled_changes:
            usual.update(changes or {})
        return usual
