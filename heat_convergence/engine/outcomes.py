"""The record of calls' outcomes: what a worker writes after a call.

Called by ``engine`` and ``nested`` inside their transactions.  Writes only rows
that the lease's token still holds (RULE 3): a late writer's update matches none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.lifecycle.readiness.poll_times import poll_time
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import format_call
from heat_convergence.engine.execution import Outcome
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.protocol.verb_values import VerbResult
from heat_convergence.resources.redaction import redact_secrets

RowChange = tuple[JobTransition, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RecordedOutcomes:
    """The recorded resources, for messages after the commit.

    Attributes:
        current: ids for the observers.
        superseded: newer version → ids that the engines may start for it.
    """

    current: tuple[str, ...]
    superseded: Mapping[int, tuple[str, ...]]


def merge_recorded(parts: Sequence[RecordedOutcomes]) -> RecordedOutcomes:
    """Merge several records into one."""
    superseded: dict[int, tuple[str, ...]] = {}
    for part in parts:
        for version, ids in part.superseded.items():
            superseded[version] = superseded.get(version, ()) + ids
    return RecordedOutcomes(tuple(row_id for part in parts for row_id in part.current), superseded)


def record_outcomes(
    tx: Transaction, outcomes: Sequence[Outcome], token: str, context: TraversalContext
) -> RecordedOutcomes:
    """Write the outcomes of calls and end the leases."""
    resets = _data_resets(outcomes)
    if resets:  # their rows are locked, too, in the order of ids as everywhere
        tx.resources.lock([*resets, *(outcome.job.row.id for outcome in outcomes)])
    if len(outcomes) == 1 and not resets and _record_at_once(tx, outcomes[0], token, context):
        return RecordedOutcomes((outcomes[0].job.row.id,), {})
    versions = tx.leases.lock_held([outcome.job.row.id for outcome in outcomes], token)
    leased = [outcome for outcome in outcomes if outcome.job.row.id in versions]
    current = [o for o in leased if versions[o.job.row.id] == o.job.row.job.version]
    stale = [o for o in leased if versions[o.job.row.id] != o.job.row.job.version]
    retried = [o for o in current if o.retryable or o.retry_with_new_incarnation]
    tries = _count_tries(tx, retried, context.settings.retry_limit)
    _save(tx, current, [change_of(o, tries.get(o.job.row.id), context) for o in current])
    returned = job_transitions.return_lease()
    _save(tx, stale, [(_with_call(returned, o, context), _facts(o)) for o in stale])
    # A job of the newer version that deletes one of the stale resources resets data again.
    _reset_data(tx, _data_resets(current))
    # Jobs that waited for this worker may be claimed now.
    tx.jobs.repost([o.job.row.id for o in stale], context.now)
    superseded: dict[int, list[str]] = {}
    for outcome in stale:
        row_id = outcome.job.row.id
        superseded.setdefault(versions[row_id], []).append(row_id)
    return RecordedOutcomes(
        tuple(outcome.job.row.id for outcome in current),
        {version: tuple(ids) for version, ids in superseded.items()},
    )


def _data_resets(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, Any]]:
    """Return the data that deletions reset in other resources, by their ids.

    There are none where the stack is deleted as a whole.
    """
    resets: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        result, stack = outcome.result, outcome.job.stack
        if result is None or result.observed is not ObservedState.ABSENT or stack is None:
            continue
        if stack.action is not Action.DELETE:
            for row_id, data in result.data_resets.items():
                resets[row_id] = {**resets.get(row_id, {}), **data}
    return resets


def _reset_data(tx: Transaction, resets: Mapping[str, Mapping[str, Any]]) -> None:
    if not resets:
        return
    tx.resources.update_each(
        {
            row.id: {
                "data": {**row.physical.data, **resets[row.id]},
                "sensitive": row.desired.sensitive,
            }
            for row in tx.resources.get(list(resets))
        }
    )


def _record_at_once(
    tx: Transaction, outcome: Outcome, token: str, context: TraversalContext
) -> bool:
    """Record a single outcome in one statement, unless a newer version has started."""
    if outcome.retryable or outcome.retry_with_new_incarnation:
        return False
    row = outcome.job.row
    transition, columns = change_of(outcome, None, context)
    return tx.jobs.apply_leased(
        row.id, token, row.job.version, transition, {**columns, **changed_data(outcome)}
    )


def changed_data(outcome: Outcome) -> dict[str, Any]:
    """Return the data that the call has changed.

    Others are left alone: a signal may have changed them meanwhile.
    """
    result = outcome.result
    return {} if result is None or result.data is None else {"data": result.data}


def _save(tx: Transaction, outcomes: Sequence[Outcome], changes: Sequence[RowChange]) -> None:
    with_data: dict[str, RowChange] = {}
    without_data: dict[str, RowChange] = {}
    for outcome, (transition, columns) in zip(outcomes, changes, strict=True):
        data = changed_data(outcome)
        target = with_data if data else without_data
        target[outcome.job.row.id] = (transition, {**columns, **data})
    tx.jobs.apply_each(with_data)
    tx.jobs.apply_each(without_data)


def _count_tries(tx: Transaction, outcomes: Sequence[Outcome], limit: int) -> dict[str, int]:
    """Count a try for each, up to the limit; return how many there were before."""
    if not outcomes:
        return {}
    version = outcomes[0].job.row.job.version
    ids = [outcome.job.row.id for outcome in outcomes]
    before = tx.graph.get_retry_counts(version, ids)
    tx.graph.increment_retry_counts(version, [each for each in ids if before.get(each, 0) < limit])
    return {row_id: before.get(row_id, 0) for row_id in ids}


def _facts(outcome: Outcome) -> dict[str, Any]:
    """Return the columns that describe the physical resource, whatever the goal is."""
    job, result = outcome.job, outcome.result
    row, resource_type = job.row, job.resource_type
    stored = job.step.traits.stores_properties and result is not None
    properties = job.desired_properties if stored else row.physical.properties
    hashed = row.physical.properties_hash
    if stored:
        hashed = None if job.unverified else properties_hash(job.desired_properties)
    elif job.step is JobStep.UPDATE:
        hashed = None
    attributes = None if result is None else result.attributes
    known = readable_or_empty(properties)
    secret = resource_type is not None and resource_type.has_secret_data(known)
    return {
        "sensitive": row.desired.sensitive or secret,
        "physical_id": _physical_id(outcome),
        "properties": properties,
        "properties_hash": hashed,
        "attributes": row.physical.attributes if attributes is None else attributes,
    }


def _physical_id(outcome: Outcome) -> str | None:
    row, result = outcome.job.row, outcome.result
    if result is None:
        return row.physical.id
    creating = outcome.job.action is Action.CREATE
    if creating and result.observed is not ObservedState.ABSENT:
        return result.physical_id or row.physical.id or row.identity.physical_name
    return row.physical.id if result.physical_id is None else result.physical_id


def change_of(outcome: Outcome, tries: int | None, context: TraversalContext) -> RowChange:
    """Return everything that the outcome changes in a row with the same goal.

    ``observe_at`` is set unless the end of a nested stack sets it: should the message to
    the observers be lost, an observer comes by itself.
    """
    row = outcome.job.row
    touched = outcome.job.step.traits.refreshes_values and outcome.result is not None
    columns = {
        **_facts(outcome),
        "status_reason": _status_reason(outcome),
        "touched_version": row.job.version if touched else row.job.touched_version,
    }
    transition = _transition(outcome, tries or 0, context)
    return _with_call(transition, outcome, context), columns


def _with_call(
    transition: JobTransition, outcome: Outcome, context: TraversalContext
) -> JobTransition:
    """Return the transition with the times of the call, which may be part of its record."""
    answered_at = outcome.answered_at or context.now
    observed = str(transition.values.get("observed") or "")
    call = format_call(outcome.called_at or answered_at, answered_at, observed)
    return transition.with_marks(call)


def _transition(outcome: Outcome, tries: int, context: TraversalContext) -> JobTransition:
    settings, result = context.settings, outcome.result
    repost_at = context.now + timedelta(seconds=settings.repost_after_s)
    pause_s = _pause_s(outcome, tries, settings)
    if pause_s is not None:
        _report_retry(outcome, context)
        return job_transitions.retry_call(context.now + timedelta(seconds=pause_s), context.now)
    if outcome.needs_replacement:
        observed = None if result is None else ObservedState.FAILED
        return job_transitions.request_replacement(observed, repost_at)
    if outcome.error is not None:
        refused = outcome.job.error is not None and outcome.job.step is JobStep.NO_OP
        observed = ObservedState.SKIPPED if refused else ObservedState.FAILED
        return job_transitions.await_observation(observed, repost_at)
    if result is None:
        return job_transitions.await_observation(None, repost_at)
    if _result_failed(outcome):
        if outcome.retry_with_new_incarnation and tries < settings.retry_limit:
            return job_transitions.request_replacement(result.observed, repost_at)
        return job_transitions.await_observation(result.observed, repost_at)
    if result.observed is not ObservedState.BUSY:
        return job_transitions.await_observation(result.observed, repost_at)
    poll_at = _first_poll_time(outcome, result, context)
    return job_transitions.await_observation(ObservedState.BUSY, poll_at)


def _first_poll_time(
    outcome: Outcome, result: VerbResult, context: TraversalContext
) -> datetime | None:
    """Return when a BUSY resource is observed for the first time.

    A signal asks for an observation only where the record shows that one is awaited. Signals
    that arrived during the call are found by an observation right after the record.
    """
    resource_type = outcome.job.resource_type
    may_await_signal = resource_type is not None and resource_type.may_await_signal
    if may_await_signal and result.poll_after_s is not None:
        return context.now
    return poll_time(context.now, result.poll_after_s, result.poll_grid_s)


def _report_retry(outcome: Outcome, context: TraversalContext) -> None:
    row, action = outcome.job.row, outcome.job.action
    if outcome.unfinished:  # another step follows; nothing has failed
        change, routine = "resource action continues", True
    elif outcome.refused:
        change, routine = "resource action postponed", True
    else:
        change, routine = "resource action retried", False
    context.report(Report(row, change, action, _status_reason(outcome), is_routine=routine))


def _result_failed(outcome: Outcome) -> bool:
    result = outcome.result
    if result is None:
        return False
    deleting = outcome.job.action is Action.DELETE
    missing = result.observed is ObservedState.ABSENT and not deleting
    return missing or result.observed is ObservedState.FAILED


def _status_reason(outcome: Outcome) -> str:
    job, result = outcome.job, outcome.result

    def hide_secrets(text: str) -> str:
        return redact_secrets(text, job.row, job.resource_type, job.desired_properties)

    if outcome.needs_replacement:
        if result is None:
            return job.row.state.reason
        return format_failure_reason(
            job.row.name, result.reason, hide_secrets, result.failure_type
        )
    if outcome.error is not None:
        return format_failure_reason(job.row.name, outcome.error, hide_secrets)
    if result is None:
        return job.row.state.reason
    if _result_failed(outcome):
        reason = result.reason or "it is gone"
        return format_failure_reason(job.row.name, reason, hide_secrets, result.failure_type)
    return hide_secrets(result.reason) or "state changed"


def _pause_s(outcome: Outcome, tries: int, settings: ConvergenceSettings) -> float | None:
    """Return how long until the job is done again; None if it is not."""
    if outcome.unfinished and outcome.result is not None:
        return outcome.result.next_step_after_s or settings.repost_after_s
    if outcome.refused:
        return max(_requested_pause_s(outcome.error) or 0.0, settings.retry_backoff_s)
    if outcome.needs_replacement or not outcome.retryable or tries >= settings.retry_limit:
        return None
    return settings.backoff_s(tries, _requested_pause_s(outcome.error))


def _requested_pause_s(error: Error | None) -> float | None:
    return error.retry_after_s if isinstance(error, TemporaryFailure) else None


def format_failure_reason(
    name: str,
    error: Error | str,
    redact: Callable[[str], str],
    error_type: str = "ResourceInError",
) -> str:
    """Return ``<ErrorType>: <path>: <message>``.

    Args:
        name: the resource.
        error: the error, or the text of one.
        redact: removes secrets from a message.
        error_type: the type of an error that is a text.
    """
    if isinstance(error, str):
        return f"{error_type}: resources.{name}: {redact(error)}"
    path = error.path or f"resources.{name}"
    return f"{error.shown_type}: {path}: {redact(error.message)}"
