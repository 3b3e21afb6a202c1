"""The rules about what the watch reads and shows, checked when all is quiet.

RULE 16: what is shown of each resource is what there is, whatever lists have shown before and
whichever notifications were lost. RULE 17: however many notifications come, the resources of a
project are not listed more often than the pause between two reads allows. Called by
``drift_runs``. Must not change anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    DriftStatus,
    WatchedResource,
)
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.environment import SimulatedEnvironment

VIEW_RULE, READ_RULE = 16, 17
_SIZE = "size"


def find_wrong_view(environment: SimulatedEnvironment, implementation: str) -> Violation | None:
    """Return a violation if an observation at rest says something else than the cloud."""
    for each in _watched(environment, implementation):
        recorded = each.recorded
        if recorded is None or recorded.resource_updated_at != each.row.state.updated_at:
            continue  # it says nothing about the present resource
        found = environment.cloud.get(each.row.physical.id)
        differs = _differs(each, found)
        if recorded.status is DriftStatus.IN_SYNC and differs:
            return Violation(VIEW_RULE, f"{each.row.name} differs, unnoticed")
        if recorded.status in DRIFTED and not differs:
            text = f"{each.row.name} is shown as {recorded.status}, and is in order"
            return Violation(VIEW_RULE, text)
    return None


def find_frequent_reads(environment: SimulatedEnvironment, observers: int) -> Violation | None:
    """Return a violation if lists of one project were requested in too quick a sequence.

    In a second there may be one read, and one by each observer for a change that was announced
    while another observer read.
    """
    for project_id, times in sorted(environment.cloud_view.list_times.items()):
        ordered = sorted(times)
        windows = zip(ordered, ordered[1 + observers :], strict=False)
        for first, last in windows:
            if last - first < timedelta(seconds=1):
                text = f"the resources of {project_id} are listed too often in a second"
                return Violation(READ_RULE, text)
    return None


def _watched(environment: SimulatedEnvironment, implementation: str) -> Iterator[WatchedResource]:
    states = environment.invariant_checker.stack_states.values()
    for project_id in sorted({state.stack.project_id for state in states}):
        yield from environment.store.watch.list_watched(project_id, [implementation]).resources


def _differs(watched: WatchedResource, found: CloudObject | None) -> bool:
    if found is None or found.in_error:
        return True
    applied = (watched.row.physical.properties or {}).get(_SIZE)
    return bool(applied != found.properties.get(_SIZE))
