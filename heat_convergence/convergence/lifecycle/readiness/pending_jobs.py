"""The recording of jobs that are still under way, and when they are due again.

Called by ``progress`` under the stack's lock.  Must not decide what follows from an observation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import (
    ClassifiedRows,
    Observation,
    Observations,
)
from heat_convergence.convergence.lifecycle.readiness.poll_times import poll_time
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.store import Transaction


def record_pending(
    tx: Transaction,
    rows: ClassifiedRows,
    observations: Observations,
    context: TraversalContext,
) -> ClassifiedRows:
    """Record the rows whose jobs are still under way, and when they are due again."""
    poll_times = {
        row.id: _next_poll_time(row, observations[row.id], context) for row in rows.waiting
    }
    changes = {
        row.id: job_transitions.keep_waiting(
            observations[row.id].observed, context.now, poll_times[row.id]
        )
        for row in rows.waiting
    }
    tx.jobs.apply_each({row_id: (change, {}) for row_id, change in changes.items()})
    pauses = {
        row.id: job_transitions.retry_later(_poll_time(observations[row.id], context), context.now)
        for row in rows.paused
    }
    tx.jobs.apply_each({row_id: (pause, {}) for row_id, pause in pauses.items()})
    known = (at for at in poll_times.values() if at is not None)
    return replace(rows, poll_times=(*rows.poll_times, *known))


def _next_poll_time(
    row: Resource, observation: Observation, context: TraversalContext
) -> datetime | None:
    """Return the next poll time.

    The observer postponed it before it polled.  If the row has another time by now, a
    signal or a notification arrived during the poll, and another observer may already poll
    because of it.  This observation may be older than the signal, so that the earlier of
    both times counts.  Nested stacks are observed under the rows' locks.
    """
    if observation.recheck_after_s is None:
        return None
    poll_at, requested_at = _poll_time(observation, context), row.observation.observe_at
    if poll_at is None or requested_at in (None, observation.postponed_to):
        return poll_at
    return min(poll_at, requested_at)


def _poll_time(observation: Observation, context: TraversalContext) -> datetime | None:
    return poll_time(context.now, observation.recheck_after_s, observation.recheck_grid_s)
