"""What types have in common whose reality is nothing but their own row.

Decides their defaults: made, gone and found at once.  Base of the built-in types
that reach no service.  Must not do I/O or wait: waiting is a BUSY look.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.plugin import Look, ResourceType, View

Json = Any

FOREVER = -1.0  # any negative wait
LOOK_AGAIN_S = 60.0  # at most this long between looks at something that waits


class LocalType(ResourceType):
    """``attributes_of`` is what is written down at a look; None: nothing new."""

    local: ClassVar[bool] = True

    def create(self, view: View) -> Look:
        return self.look(view, view.properties, physical_id=view.physical_name)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        return self.look(view, after, physical_id=view.physical_id)

    def delete(self, view: View) -> Look:
        return Look(Observed.ABSENT)

    def observe(self, view: View) -> Look:
        if view.action is Action.DELETE or view.physical_id is None:
            return Look(Observed.ABSENT)
        return self.look(view, view.properties, physical_id=view.physical_id)

    def look(self, view: View, properties: Mapping[str, Json], *, physical_id: str | None) -> Look:
        """READY, with the attributes that these properties give."""
        return Look(
            Observed.READY,
            physical_id=physical_id,
            attributes=self.attributes_of(properties),
        )

    def attributes_of(self, properties: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return None


def remaining_s(view: View, wait_s: float) -> float:
    """Seconds until the current action has lasted ``wait_s``; negative waits last
    for ever, and are told as infinity."""
    if wait_s < 0:
        return float("inf")
    return max(0.0, wait_s - (view.now - view.started_at).total_seconds())


def busy(left_s: float, *, physical_id: str | None) -> Look:
    """Leave it alone for as long as it is known to last."""
    return Look(Observed.BUSY, physical_id=physical_id, again_s=min(left_s, LOOK_AGAIN_S))
