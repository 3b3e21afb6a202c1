"""The retries of failed resources: another try, another incarnation, or the end.

Called by ``progress`` for failures that the observer has just observed; engines decide
the same of their own calls (``engine.outcomes``).  Tries are counted in the graph and
go over to a successor, so that they are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.lifecycle.observations import ClassifiedRows, Observations
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, ObservedState
from heat_convergence.convergence.model.resource import RELEASES_EARLY, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def schedule_retries(
    tx: Transaction,
    stack: Stack,
    rows: ClassifiedRows,
    observations: Observations,
    context: TraversalContext,
) -> ClassifiedRows:
    """Schedule the retries of failed resources that have tries left.

    Deletions are tried again; new resources get another incarnation.  Inserts an event
    for every incarnation that has failed.

    Returns:
        The rows without the failures that are tried again: deletions are left out, new
        resources are among ``replaced``.
    """
    hopeful = [row for row in rows.failed if _may_retry(row, observations)]
    if stack.first_failure_reason is not None:
        # Nothing new is created any more; deletions go on.
        hopeful = [row for row in hopeful if _is_deletion(row)]
    if hopeful:
        hopeful = _without_released(tx, stack, hopeful)
        tries = tx.graph.get_retry_counts(stack.version, [row.id for row in hopeful])
        limit = context.settings.retry_limit
        hopeful = [row for row in hopeful if tries.get(row.id, 0) < limit]
        tx.graph.increment_retry_counts(stack.version, [row.id for row in hopeful])
        deletions = [row for row in hopeful if _is_deletion(row)]
        _retry_deletions(tx, deletions, tries, observations, context)
        retried = {row.id for row in hopeful}
        new = tuple(row for row in hopeful if not _is_deletion(row))
        failed = tuple(row for row in rows.failed if row.id not in retried)
        rows = replace(rows, failed=failed, replaced=(*rows.replaced, *new))
    _insert_failure_events(tx, rows.replaced, observations, context)
    return rows


def _without_released(tx: Transaction, stack: Stack, rows: Sequence[Resource]) -> list[Resource]:
    """Leave out the resources that others were created with before they were done.

    Another incarnation would have another id; the next goal replaces them, and updates those.
    """
    early = [row.id for row in rows if RELEASES_EARLY in row.desired.hooks_and_restrictions]
    released = tx.readiness.find_released(stack.version, early) if early else frozenset()
    return [row for row in rows if row.id not in released]


def failure_reasons(rows: Sequence[Resource], observations: Observations) -> dict[str, str]:
    """Return the reasons of those replaced rows that have failed.

    An earlier goal may use the others again.
    """
    reasons = {}
    for row in rows:
        observation = observations.get(row.id)
        observed = None if observation is None else observation.observed
        failed = ObservedState.FAILED in (row.observation.state, observed)
        if failed or row.state.status is Status.FAILED:
            reasons[row.id] = row.state.reason if observation is None else observation.reason
    return reasons


def _is_deletion(row: Resource) -> bool:
    return row.desired.state is DesiredState.ABSENT


def _may_retry(row: Resource, observations: Observations) -> bool:
    observation = observations.get(row.id)
    if observation is None or observation.is_permanent:
        return False
    if _is_deletion(row):
        return True
    new = row.state.action is Action.CREATE and observation.retry_with_new_incarnation
    return new and observation.observed is ObservedState.FAILED


def _retry_deletions(
    tx: Transaction,
    rows: Sequence[Resource],
    tries: Mapping[str, int],
    observations: Observations,
    context: TraversalContext,
) -> None:
    changes = {}
    for row in rows:
        pause = timedelta(seconds=context.settings.backoff_s(tries.get(row.id, 0)))
        retry = job_transitions.retry_later(context.now + pause, context.now)
        reason = observations[row.id].reason
        changes[row.id] = (retry, {"status_reason": reason})
        context.report(Report(row, "resource action retried", row.state.action, reason))
    tx.jobs.apply_each(changes)


def _insert_failure_events(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> None:
    """Insert events of the rows that are replaced because they have failed."""
    events = []
    for row in rows:
        observation = observations.get(row.id)
        if observation is None and row.observation.state is not ObservedState.FAILED:
            continue
        reason = row.state.reason if observation is None else observation.reason
        events.append(context.resource_event(row, row.state.action, Status.FAILED, reason))
    tx.events.insert(events)
