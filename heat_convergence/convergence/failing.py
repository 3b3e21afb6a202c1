"""Which failures are the last word, and which get another try or incarnation.

Called by ``advance`` for what the observer has just seen; engines decide the same of
what their own calls ended in (``engine.recording``).  Tries are counted in the
graph and go over to a successor, so that there is an end to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from heat_convergence.convergence import ending
from heat_convergence.convergence.model import (
    Action,
    Desired,
    JobState,
    Json,
    Observed,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Means

JobKey = tuple[int, Action, JobState | None, datetime | None]


def job_of(row: Resource) -> JobKey:
    """What tells one try of a job from the next."""
    return (row.version, row.action, row.job_state, row.posted_at)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen of one resource; ``again_s`` for one that is not done yet (None:
    the stack behind it will tell), ``more`` for one that takes another step,
    ``attributes`` and ``data`` where they are known anew, ``retry`` if another
    incarnation of what has failed may turn out better, ``final`` if not even a
    deletion is to be tried again.

    ``job`` is ``job_of`` the row for which it was looked at: by the time it is noted,
    the resource may have another job, of which the look says nothing.  None: it was
    looked at in the transaction that takes note.
    """

    observed: Observed
    reason: str = ""
    again_s: float | None = 1.0
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    retry: bool = False
    more: bool = False
    final: bool = False
    job: JobKey | None = None


def give_chances(
    tx: Transaction,
    stack: Stack,
    failed: list[Resource],
    replaced: list[Resource],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> None:
    """Takes out of ``failed`` the deletions that are tried again and the new
    resources that are ``replaced``; tells of every incarnation that failed."""
    seen = [row for row in failed if row.id in sightings and _has_hope(row, sightings)]
    if stack.first_cause is not None:
        # Nothing new is made any more; what is being deleted goes on.
        seen = [row for row in seen if _leaves(row)]
    if seen:
        tries = tx.retry_counts(stack.version, [row.id for row in seen])
        seen = [row for row in seen if tries.get(row.id, 0) < means.settings.retry_limit]
        tx.count_retry(stack.version, [row.id for row in seen])
        _delete_again(
            tx, [row for row in seen if _leaves(row)], tries, sightings, means
        )
        replaced.extend(row for row in seen if not _leaves(row))
        kept = {row.id for row in seen}
        failed[:] = [row for row in failed if row.id not in kept]
    _tell(tx, replaced, sightings, means)


def is_broken(row: Resource, sightings: Mapping[str, Sighting]) -> bool:
    """Whether what is replaced has failed; else it may serve an earlier goal again."""
    return Status.FAILED is row.status or Observed.FAILED in (
        row.observed, sightings[row.id].observed if row.id in sightings else None
    )


def _leaves(row: Resource) -> bool:
    return row.desired is Desired.ABSENT


def _has_hope(row: Resource, sightings: Mapping[str, Sighting]) -> bool:
    new = row.action is Action.CREATE and sightings[row.id].retry
    seen = sightings[row.id]
    return not seen.final and (_leaves(row) or (new and seen.observed is Observed.FAILED))


def _delete_again(
    tx: Transaction,
    rows: list[Resource],
    tries: Mapping[str, int],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> None:
    settings = means.settings
    tx.save_resources(
        {
            row.id: {
                "job_state": JobState.RETRY,
                "observed": None,
                "status_reason": sightings[row.id].reason,
                "observe_at": means.now
                + timedelta(seconds=settings.backoff_s(tries.get(row.id, 0))),
            }
            for row in rows
        }
    )


def _tell(
    tx: Transaction,
    rows: list[Resource],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> None:
    """Events of those that are replaced because they failed."""
    events = []
    for row in rows:
        seen = sightings.get(row.id)
        if seen is None and row.observed is not Observed.FAILED:
            continue
        reason = row.status_reason if seen is None else seen.reason
        events.append(
            ending.resource_event(row, row.action, Status.FAILED, reason, means.now, means.ids)
        )
    tx.insert_events(events)
