"""The view that reads have of the simulated cloud: old lists, holes, unreachable objects.

The watched type reads by it, and foreign changes decide what it shows.  Must not change the cloud.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from heat_convergence.testing.simulation.cloud import CloudObject, SimulatedCloud

Json = Any


class CloudView:
    """The view that reads have of a simulated cloud.

    Attributes:
        cloud: The cloud.
        unreachable_ids: Ids of objects that exist and that no read shows.
        old_properties: Properties that lists still show, by id.
        unreachable_since: When so many objects became unreachable that it is a mass loss.
        missed_at: When a read has first shown that an unreachable object is missing, by id.
        hidden_ids: Ids of objects that were ever unreachable.
        hole_share: The share of objects that each list leaves out.
        hole_random: Chooses them.
        list_times: When lists were requested, by project.
    """

    def __init__(self, cloud: SimulatedCloud) -> None:
        self.cloud = cloud
        self.unreachable_ids: frozenset[str] = frozenset()
        self.old_properties: Mapping[str, Mapping[str, Json]] = {}
        self.unreachable_since: datetime | None = None
        self.missed_at: dict[str, datetime] = {}
        self.hidden_ids: frozenset[str] = frozenset()
        self.hole_share = 0.0
        self.hole_random = random.Random(0)
        self.list_times: dict[str, list[datetime]] = {}

    def hide(self, object_ids: Iterable[str]) -> None:
        """Let no read show these objects, and show all others again."""
        self.unreachable_ids = frozenset(object_ids)
        self.hidden_ids |= self.unreachable_ids
        self.missed_at = {}

    def note_missing(self, object_id: str | None, read_at: datetime) -> None:
        """Note that a read has not shown an object."""
        if object_id is not None and object_id in self.unreachable_ids:
            self.missed_at.setdefault(object_id, read_at)

    def get(self, object_id: str | None) -> CloudObject | None:
        """Return the object that a read of it shows, or None."""
        return None if object_id in self.unreachable_ids else self.cloud.get(object_id)

    def find_listed(self, object_id: str | None) -> CloudObject | None:
        """Return the object that a list shows: it may have holes, or be an old one."""
        if self.hole_share and self.hole_random.random() < self.hole_share:
            return None
        if object_id in self.old_properties and object_id not in self.unreachable_ids:
            return self.cloud.objects.get(object_id or "")
        return self.get(object_id)

    def listed_properties(self, found: CloudObject) -> Mapping[str, Json]:
        """Return the properties that a list shows of an object."""
        return self.old_properties.get(found.id, found.properties)
