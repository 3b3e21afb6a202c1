"""Quarantined resources: physical resources that outlast their deleted stack.

An entry keeps its row in ``resource``, which knows how to delete the physical resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

_MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineEntry:
    """A resource whose deletion the observers try again.

    Attributes:
        root_id: the root of the tree of stacks, whose credential deletes the resource.
        reason: why the last deletion failed, or why none was tried.
        tries: failed tries since the stack gave the resource up.
        since: when it was quarantined.
        next_at: when its deletion is tried next; None while its stack is being deleted.
        taken_until: when the deletion that an observer has started must have ended, if it has.
        waits_for: ids of resources that may still use this one, and of its nested stack; it is
            not deleted while one of them is in quarantine (RULE 5).
    """

    resource_id: str
    stack_id: str
    root_id: str
    project_id: str
    stack_name: str
    resource_name: str
    resource_type: str
    physical_id: str | None
    reason: str
    tries: int = 0
    since: datetime
    next_at: datetime | None = None
    taken_until: datetime | None = None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """The pauses between two deletions of a quarantined resource.

    Attributes:
        pause_s: seconds before the first one; doubled after each …
        pause_max_s: … up to this.
    """

    pause_s: float = 60.0
    pause_max_s: float = 21600.0

    def pause_after(self, tries: int) -> float:
        """Return the seconds until the next try after so many failed ones."""
        return min(self.pause_s * 2.0 ** min(tries, _MAX_DOUBLINGS), self.pause_max_s)
