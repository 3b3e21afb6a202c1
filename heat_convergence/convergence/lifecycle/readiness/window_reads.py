"""The reads of resources at rest, as long as a stabilization window is open.

Used by ``stabilization.window``, and by what ends a window or starts another traversal.  Must not
decide what a read means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.environment.stabilization import window_from_words

_WITH_WINDOW = frozenset({Action.CREATE, Action.UPDATE})


def longest_window_s(action: Action, desired: Iterable[DesiredResource]) -> int | None:
    """Return the longest window of a goal's resources, None if the action waits for none."""
    if action not in _WITH_WINDOW:
        return None
    windows = (window_from_words(each.hooks_and_restrictions) for each in desired)
    return max(windows, default=0) or None


def window_of(row: Resource) -> int:
    """Return the seconds for which a resource at rest must have been healthy, 0 for none."""
    if row.job.verb is not None or row.desired.state is not DesiredState.PRESENT:
        return 0
    return window_from_words(row.desired.hooks_and_restrictions)


def request_reads(tx: Transaction, rows: Sequence[Resource], at: datetime) -> None:
    """Have resources read of which it is not known whether they are healthy."""
    busy = job_transitions.read_at_rest(ObservedState.BUSY, at)
    tx.jobs.apply([row.id for row in rows], busy)


def cancel_reads(tx: Transaction, rows: Iterable[Resource]) -> None:
    """Cancel the reads of resources; those whose attributes are out of date are read again."""
    ids = [row.id for row in rows if window_of(row) and row.observation.observe_at is not None]
    tx.jobs.apply(ids, job_transitions.end_observation())
