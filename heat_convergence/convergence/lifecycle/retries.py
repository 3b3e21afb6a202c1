"""Which failures are the last word, and which get another try or incarnation.

Called by ``advance`` for what the observer has just seen; engines decide the same of
what their own calls ended in (``engine.recording``).  Tries are counted in the
graph and go over to a successor, so that there is an end to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from heat_convergence.convergence.lifecycle import completion
from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction

JobKey = tuple[int, Action, JobState | None, datetime | None]


def job_key(row: Resource) -> JobKey:
    """What tells one try of a job from the next."""
    return (row.version, row.action, row.job_state, row.posted_at)


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of one resource; ``again_s`` for one that is not done yet (None:
    the stack behind it will tell), ``more`` for one that takes another step,
    ``attributes`` and ``data`` where they are known anew, ``retry`` if another
    incarnation of what has failed may turn out better, ``final`` if not even a
    deletion is to be tried again.

    ``job`` is ``job_key`` the row for which it was looked at: by the time it is noted,
    the resource may have another job, of which the look says nothing.  None: it was
    looked at in the transaction that takes note.
    """

    observed: ObservedState
    reason: str = ""
    recheck_after_s: float | None = 1.0
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    retry_with_new_incarnation: bool = False
    has_next_step: bool = False
    is_permanent: bool = False
    job: JobKey | None = None


def schedule_retries(
    tx: Transaction,
    stack: Stack,
    failed: list[Resource],
    replaced: list[Resource],
    observations: Mapping[str, Observation],
    context: TraversalContext,
) -> None:
    """Takes out of ``failed`` the deletions that are tried again and the new
    resources that are ``load_replaced_goal``; tells of every incarnation that failed."""
    seen = [row for row in failed if row.id in observations and _has_hope(row, observations)]
    if stack.first_failure_reason is not None:
        # Nothing new is made any more; what is being deleted goes on.
        seen = [row for row in seen if _leaves(row)]
    if seen:
        tries = tx.graph.get_retry_counts(stack.version, [row.id for row in seen])
        seen = [row for row in seen if tries.get(row.id, 0) < context.settings.retry_limit]
        tx.graph.increment_retry_counts(stack.version, [row.id for row in seen])
        _delete_again(tx, [row for row in seen if _leaves(row)], tries, observations, context)
        replaced.extend(row for row in seen if not _leaves(row))
        kept = {row.id for row in seen}
        failed[:] = [row for row in failed if row.id not in kept]
    _tell(tx, replaced, observations, context)


def has_failed(row: Resource, observations: Mapping[str, Observation]) -> bool:
    """Whether what is replaced has failed; else it may serve an earlier goal again."""
    return Status.FAILED is row.status or ObservedState.FAILED in (
        row.observed,
        observations[row.id].observed if row.id in observations else None,
    )


def _leaves(row: Resource) -> bool:
    return row.desired is DesiredState.ABSENT


def _has_hope(row: Resource, observations: Mapping[str, Observation]) -> bool:
    new = row.action is Action.CREATE and observations[row.id].retry_with_new_incarnation
    seen = observations[row.id]
    return not seen.is_permanent and (
        _leaves(row) or (new and seen.observed is ObservedState.FAILED)
    )


def _delete_again(
    tx: Transaction,
    rows: list[Resource],
    tries: Mapping[str, int],
    observations: Mapping[str, Observation],
    means: TraversalContext,
) -> None:
    settings = means.settings
    tx.resources.update_each(
        {
            row.id: {
                "job_state": JobState.RETRY,
                "observed": None,
                "status_reason": observations[row.id].reason,
                "observe_at": means.now
                + timedelta(seconds=settings.backoff_s(tries.get(row.id, 0))),
            }
            for row in rows
        }
    )


def _tell(
    tx: Transaction,
    rows: list[Resource],
    observations: Mapping[str, Observation],
    means: TraversalContext,
) -> None:
    """Events of those that are replaced because they failed."""
    events = []
    for row in rows:
        seen = observations.get(row.id)
        if seen is None and row.observed is not ObservedState.FAILED:
            continue
        reason = row.status_reason if seen is None else seen.reason
        events.append(
            completion.resource_event(row, row.action, Status.FAILED, reason, means.now, means.ids)
        )
    tx.events.insert(events)
