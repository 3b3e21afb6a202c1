"""The ages of reads when they are recorded: RULE 16 for what is shown meanwhile.

An observation that counts as one of the present resource must come from a read after the stack's
last change of the physical resource. The fault points report reads and calls; its check runs after
each commit of the watch. Must not read what the code under test takes for the time of a read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from heat_convergence.convergence.drift.observation import WatchResult
from heat_convergence.convergence.drift.repository import WatchRepository
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.resources.protocol.verb_values import ResourceContext

_VIEW_RULE = 16


class ReadAges:
    """The times of reads, and of the last changes by stacks, in one simulation."""

    def __init__(self) -> None:
        self._reads: dict[tuple[str, datetime], float] = {}
        self._changes: dict[str, float] = {}

    def note_read(self, views: Iterable[ResourceContext], elapsed_s: float) -> None:
        """Note that the service has answered a read."""
        self._reads.update({(view.resource_id, view.now): elapsed_s for view in views})

    def note_change(self, view: ResourceContext, elapsed_s: float) -> None:
        """Note that a call has had its effect."""
        self._changes[view.resource_id] = elapsed_s

    def find_old(self, watch: WatchRepository, result: WatchResult) -> Iterator[Violation]:
        """Yield a violation for each recorded observation that is older than a change."""
        recorded = {(each.resource_id, each.observed_at) for each in result.changed}
        for project_id in sorted({each.project_id for each in result.changed}):
            names = sorted({each.implementation for each in result.changed})
            for watched in watch.list_watched(project_id, names).resources:
                found = watched.recorded
                if found is None or (found.resource_id, found.observed_at) not in recorded:
                    continue
                if found.resource_updated_at != watched.row.state.updated_at:
                    continue  # it does not count
                read_s = self._reads.get((found.resource_id, found.observed_at))
                if read_s is not None and read_s < self._changes.get(found.resource_id, 0.0):
                    text = f"what is shown of {watched.row.name} is older than its last change"
                    yield Violation(_VIEW_RULE, text)
