"""What an engine writes: the claim before a call, the outcome after it.

Called by ``engine`` inside its transactions.  Writes only rows that the lease's
token still holds (RULE 3): a late writer's update matches none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.common.errors import Error, ResourceActionRestricted, TemporaryFailure
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle.completion import resource_event
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.redaction import redact_secrets


@dataclass(frozen=True, slots=True)
class RecordedOutcomes:
    """Whom to tell: ids for the observer, and version → ids whose goal has changed
    meanwhile."""

    current: tuple[str, ...]
    superseded: Mapping[int, tuple[str, ...]]


def merge_recorded(parts: Sequence[RecordedOutcomes]) -> RecordedOutcomes:
    """Several records as one."""
    superseded: dict[int, tuple[str, ...]] = {}
    for part in parts:
        for version, ids in part.superseded.items():
            superseded[version] = superseded.get(version, ()) + ids
    return RecordedOutcomes(tuple(row_id for part in parts for row_id in part.current), superseded)


# -- before the call ----------------------------------------------------------


def record_claims(
    tx: Transaction, jobs: Sequence[Job], lease: Mapping[str, Any], now: datetime, ids: IdFactory
) -> None:
    """Takes the rows; those whose state changes show it, with an event."""
    silent = [job for job in jobs if not job.step.traits.shows_progress]
    tx.resources.update([job.row.id for job in silent], **lease)
    told = {job.row.id for job in silent}
    groups: dict[tuple[Action, bool, bool], list[Job]] = {}
    for job in jobs:
        if job.row.id not in told:
            changes = not job.step.traits.only_observes
            groups.setdefault((job.action, _goes_on(job), changes), []).append(job)
    for (action, goes_on, changes), members in sorted(groups.items()):
        begun = {} if goes_on else {"action_started_at": now}
        unknown: dict[str, Any] = {}
        if changes and action is Action.UPDATE:
            unknown = {"properties_hash": None}
        elif action is Action.SUSPEND:
            unknown = {"suspended": True}
        tx.resources.update(
            [job.row.id for job in members],
            action=action,
            status=Status.IN_PROGRESS,
            status_reason="state changed",
            **begun,
            **unknown,
            **lease,
        )
    tx.events.insert(
        [
            resource_event(job.row, Action.ADOPT, status, "state changed", now, ids)
            for job in jobs
            if job.step is JobStep.EXTERNAL and job.row.action is Action.INIT
            for status in (Status.IN_PROGRESS, Status.COMPLETE)
        ]
    )
    tx.events.insert(
        [
            resource_event(
                job.row,
                job.action,
                Status.IN_PROGRESS,
                "state changed",
                now,
                ids,
                job.desired_properties,
            )
            for job in jobs
            if job.row.id not in told and not _goes_on(job)
        ]
    )


def _goes_on(job: Job) -> bool:
    return job.row.action is job.action and job.row.status is Status.IN_PROGRESS


# -- after it -----------------------------------------------------------------


def record_outcomes(
    tx: Transaction,
    outcomes: Sequence[Outcome],
    token: str,
    now: datetime,
    settings: ConvergenceSettings,
) -> RecordedOutcomes:
    """Writes what came of the calls and gives the leases back."""
    resets = _resets(outcomes)
    if resets:  # their rows are locked along, in the order of ids as everywhere
        tx.resources.lock([*resets, *(outcome.job.row.id for outcome in outcomes)])
    if len(outcomes) == 1 and not resets and _save_at_once(tx, outcomes[0], token, now, settings):
        return RecordedOutcomes((outcomes[0].job.row.id,), {})
    versions = tx.leases.lock_held([outcome.job.row.id for outcome in outcomes], token)
    held = [outcome for outcome in outcomes if outcome.job.row.id in versions]
    current = [o for o in held if versions[o.job.row.id] == o.job.row.version]
    stale = [o for o in held if versions[o.job.row.id] != o.job.row.version]
    tries = _count_tries(tx, [o for o in current if o.retryable or o.retry_with_new_incarnation])
    _save(tx, current, [_columns(o, tries.get(o.job.row.id), now, settings) for o in current])
    _save(tx, stale, [_facts(o) for o in stale])
    _reset(tx, _resets(current))  # whoever deletes in the place of a stale one does it again
    # What waited for this worker to be done with it may be claimed now.
    tx.jobs.repost([o.job.row.id for o in stale], now)
    superseded: dict[int, list[str]] = {}
    for outcome in stale:
        row_id = outcome.job.row.id
        superseded.setdefault(versions[row_id], []).append(row_id)
    return RecordedOutcomes(
        tuple(outcome.job.row.id for outcome in current),
        {version: tuple(ids) for version, ids in superseded.items()},
    )


def _resets(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, Any]]:
    """What becomes of others' data, by their ids; of a stack that goes as a whole, nothing."""
    found: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        look, stack = outcome.result, outcome.job.stack
        if look is None or look.observed is not ObservedState.ABSENT or stack is None:
            continue
        if stack.action is not Action.DELETE:
            for row_id, data in look.data_resets.items():
                found[row_id] = {**found.get(row_id, {}), **data}
    return found


def _reset(tx: Transaction, resets: Mapping[str, Mapping[str, Any]]) -> None:
    tx.resources.update_each(
        {
            row.id: {"data": {**row.data, **resets[row.id]}, "sensitive": row.sensitive}
            for row in tx.resources.get(list(resets))
        }
        if resets
        else {}
    )


def _save_at_once(
    tx: Transaction, outcome: Outcome, token: str, now: datetime, settings: ConvergenceSettings
) -> bool:
    """In one statement, for a single one that nothing has overtaken."""
    if outcome.retryable or outcome.retry_with_new_incarnation:
        return False
    row, columns = outcome.job.row, _columns(outcome, None, now, settings)
    return tx.leases.save(row.id, token, row.version, {**columns, **_told_data(outcome)})


def _told_data(outcome: Outcome) -> dict[str, Any]:
    """Data that the call did not tell are left alone: a signal may have come
    meanwhile."""
    look = outcome.result
    return {} if look is None or look.data is None else {"data": look.data}


def _save(tx: Transaction, outcomes: Sequence[Outcome], columns: Sequence[dict[str, Any]]) -> None:
    told: dict[str, dict[str, Any]] = {}
    rest: dict[str, dict[str, Any]] = {}
    for outcome, values in zip(outcomes, columns, strict=True):
        data = _told_data(outcome)
        (told if data else rest)[outcome.job.row.id] = {**values, **data}
    tx.resources.update_each(told)
    tx.resources.update_each(rest)


def _count_tries(tx: Transaction, outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Counts a try for each, and says how many there were before."""
    if not outcomes:
        return {}
    version = outcomes[0].job.row.version
    ids = [outcome.job.row.id for outcome in outcomes]
    before = tx.graph.get_retry_counts(version, ids)
    tx.graph.increment_retry_counts(version, ids)
    return {row_id: before.get(row_id, 0) for row_id in ids}


def _facts(outcome: Outcome) -> dict[str, Any]:
    """What is known of reality now, whatever the goal."""
    row, look = outcome.job.row, outcome.result
    made = outcome.job.step.traits.stores_properties and look is not None
    properties = outcome.job.desired_properties if made else row.properties
    hashed = row.properties_hash
    if made:
        hashed = (
            None if outcome.job.unverified else properties_hash(outcome.job.desired_properties)
        )
    elif outcome.job.step is JobStep.UPDATE:
        hashed = None
    attributes = None if look is None else look.attributes
    creating = outcome.job.action is Action.CREATE
    physical_id = row.physical_id
    if look is not None and creating and look.observed is not ObservedState.ABSENT:
        physical_id = look.physical_id or row.physical_id or row.physical_name
    elif look is not None and look.physical_id is not None:
        physical_id = look.physical_id
    kind = outcome.job.resource_type
    return {
        "sensitive": row.sensitive
        or (kind is not None and kind.has_secret_data(properties or {})),
        "physical_id": physical_id,
        "properties": properties,
        "properties_hash": hashed,
        "attributes": row.attributes if attributes is None else attributes,
        "observed": None,
        "observe_at": None,
        "lease_owner": None,
        "lease_token": None,
        "lease_expires_at": None,
    }


def _columns(
    outcome: Outcome, tries: int | None, now: datetime, settings: ConvergenceSettings
) -> dict[str, Any]:
    """All that the outcome changes in a row whose goal is still the same.

    ``observe_at`` is set unless the end of a nested stack will: should the message to
    the observer be lost, the observer comes by itself.
    """
    row, look = outcome.job.row, outcome.result
    state, observed, reason = JobState.AWAITING_OBSERVATION, None, row.status_reason

    def hide(text: str) -> str:
        return redact_secrets(text, row, outcome.job.resource_type, outcome.job.desired_properties)

    again_s: float | None = settings.repost_after_s
    if outcome.needs_replacement:
        state = JobState.REPLACE
        if look is not None:
            observed = ObservedState.FAILED
            reason = format_failure_reason(row.name, look.reason, hide)
    elif outcome.error is not None:
        spared = isinstance(outcome.job.error, ResourceActionRestricted)
        observed = ObservedState.SKIPPED if spared else ObservedState.FAILED
        reason = format_failure_reason(row.name, outcome.error, hide)
    elif look is not None:
        observed, reason = look.observed, hide(look.reason) or "state changed"
        gone = look.observed is ObservedState.ABSENT and outcome.job.action is not Action.DELETE
        if gone or look.observed is ObservedState.FAILED:
            why = look.reason or "it is gone"
            reason = format_failure_reason(row.name, why, hide, look.error_name)
            if outcome.retry_with_new_incarnation and (tries or 0) < settings.retry_limit:
                state = JobState.REPLACE
        elif look.observed is ObservedState.BUSY:
            again_s = look.poll_after_s
    pause_s = _pause_s(outcome, tries or 0, settings)
    if pause_s is not None:
        state, observed, again_s = JobState.RETRY, None, pause_s
    touched = outcome.job.step.traits.refreshes_values and look is not None
    return {
        **_facts(outcome),
        "job_state": state,
        "observed": observed,
        "status_reason": reason,
        "touched_version": row.version if touched else row.touched_version,
        "observe_at": None if again_s is None else now + timedelta(seconds=again_s),
    }


def _pause_s(outcome: Outcome, tries: int, settings: ConvergenceSettings) -> float | None:
    """How long until the job is done again; None where it is not."""
    if outcome.unfinished and outcome.result is not None:
        return outcome.result.poll_after_s or settings.repost_after_s
    if outcome.needs_replacement or not outcome.retryable or tries >= settings.retry_limit:
        return None
    asked_s = None if outcome.error is None else _asked_s(outcome.error)
    return settings.backoff_s(tries, asked_s)


def format_failure_reason(
    name: str,
    error: Error | str,
    redact: Callable[[str], str],
    error_type: str = "ResourceInError",
) -> str:
    """``<ErrorType>: <path>: <message>``; ``hide`` takes from a message what must not be
    told, ``kind`` is a text's."""
    if isinstance(error, str):
        return f"{error_type}: resources.{name}: {redact(error)}"
    path = error.path or f"resources.{name}"
    return f"{type(error).__name__}: {path}: {redact(error.message)}"


def _asked_s(error: Error) -> float | None:
    return error.retry_after_s if isinstance(error, TemporaryFailure) else None
