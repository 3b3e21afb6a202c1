"""The record of a claim: the lease and the intent, before any call.

Called by ``engine`` in the claiming transaction (RULE 3, RULE 4).  A job that calls nothing
outside of the database has ended already; its outcome is recorded instead of a lease.  Must not
decide which jobs are claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import ResourceColumns
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.planning.step_selection import external_id
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark
from heat_convergence.engine import outcomes
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.outcomes import RowChange

_STARTED = "state changed"


def record_at_once(
    tx: Transaction,
    job: Job,
    outcome: Outcome | None,
    claim: JobTransition,
    context: TraversalContext,
) -> bool:
    """Claim the row of a job with one statement, unless it has changed since it was read.

    Args:
        tx: the claiming transaction.
        job: the job.
        outcome: its outcome, recorded instead of the claim; None for a job that has not ended.
        claim: the claim.
        context: the time, the ids and the settings.

    Returns:
        Whether the row is written.
    """
    columns: Mapping[str, Any] = _shown_columns(job, context)
    if outcome is not None:
        claim, columns = _ending(outcome, claim, context)
    if not tx.leases.claim_unchanged(job.row, claim, columns):
        return False
    _insert_events(tx, [job], context)
    return True


def record_claims(
    tx: Transaction, jobs: Sequence[Job], claim: JobTransition, context: TraversalContext
) -> None:
    """Claim the rows of jobs, and show their actions IN_PROGRESS, with events."""
    for job in jobs:
        if job.row.lease.token is not None:  # its worker has not renewed it in time
            reason = f"the lease of {job.row.lease.owner} has expired"
            context.report(Report(job.row, "lease taken over", job.action, reason))
    silent = [job for job in jobs if not job.step.traits.shows_progress]
    tx.jobs.apply([job.row.id for job in silent], claim)
    groups: dict[tuple[Action, bool, bool], list[Job]] = {}
    for job in jobs:
        if job.step.traits.shows_progress:
            changes = not job.step.traits.only_observes
            groups.setdefault((job.action, _goes_on(job), changes), []).append(job)
    for _key, members in sorted(groups.items()):
        prepared = next((job for job in members if job.context is not None), members[0])
        columns = _shown_columns(prepared, context)
        tx.jobs.apply([job.row.id for job in members], claim, **columns)
    _insert_events(tx, jobs, context)


def record_ends(
    tx: Transaction, ended: Sequence[Outcome], claim: JobTransition, context: TraversalContext
) -> None:
    """Record the outcomes of jobs that have ended, in their locked rows, with events.

    Args:
        tx: the claiming transaction.
        ended: the outcomes.
        claim: the claim, of which the worker is recorded.
        context: the time, the ids and the settings.
    """
    groups: dict[tuple[str, ...], dict[str, RowChange]] = {}
    for outcome in ended:
        transition, columns = _ending(outcome, claim, context)
        groups.setdefault(tuple(columns), {})[outcome.job.row.id] = transition, columns
    for _names, changes in sorted(groups.items()):
        tx.jobs.apply_each(changes)
    _insert_events(tx, [outcome.job for outcome in ended], context)


def _ending(outcome: Outcome, claim: JobTransition, context: TraversalContext) -> RowChange:
    """Return what a job that has ended changes in its row, which was claimed when it began."""
    transition, columns = outcomes.change_of(outcome, None, context)
    worker, started_at = str(claim.values["lease_owner"]), outcome.called_at or context.now
    claimed = format_mark(MarkType.CLAIMED, started_at, worker)
    shown, data = _shown_columns(outcome.job, context), outcomes.changed_data(outcome)
    return transition.with_marks(claimed), {**shown, **columns, **data}


def _insert_events(tx: Transaction, jobs: Sequence[Job], context: TraversalContext) -> None:
    tx.events.insert(
        [
            context.resource_event(_shown_row(job), Action.ADOPT, status, _STARTED)
            for job in jobs
            if job.step is JobStep.EXTERNAL and job.row.state.action is Action.INIT
            for status in (Status.IN_PROGRESS, Status.COMPLETE)
        ]
    )
    tx.events.insert(
        [
            context.resource_event(
                _shown_row(job), job.action, Status.IN_PROGRESS, _STARTED, _shown_properties(job)
            )
            for job in jobs
            if job.step.traits.shows_progress and not _goes_on(job)
        ]
    )


def _shown_row(job: Job) -> Resource:
    """Return the row for the events of a job; that of an external resource has its id."""
    row = job.row
    if job.step is not JobStep.EXTERNAL or row.physical.id is not None:
        return row
    return replace(row, physical=replace(row.physical, id=external_id(row)))


def _shown_properties(job: Job) -> Mapping[str, Any] | None:
    """Return the properties that the action works on, without the schema's own defaults.

    A delete has no desired properties; those of the physical resource are shown.  Without
    one they are None: those with which the creation has begun hold.
    """
    if job.action is Action.DELETE:
        if job.row.physical.id is None:
            return None
        values = readable_or_empty(job.row.physical.properties)
    else:
        values = job.desired_properties
    if job.resource_type is None:
        return values
    defined = job.row.desired.definition.get("properties") or {}
    schemas = job.resource_type.schema.properties
    return {
        name: value
        for name, value in values.items()
        if name in defined or name not in schemas or value != schemas[name].default
    }


def _shown_columns(job: Job, context: TraversalContext) -> ResourceColumns:
    """Return the columns that show the action of a job; none if it shows no progress."""
    if not job.step.traits.shows_progress:
        return {}
    columns: ResourceColumns = {
        "action": job.action,
        "status": Status.IN_PROGRESS,
        "status_reason": _STARTED,
    }
    if not job.step.traits.only_observes and job.action is Action.UPDATE:
        columns["properties_hash"] = None  # until the outcome is known
    elif job.action is Action.SUSPEND:
        columns["suspended"] = True
    if not _goes_on(job):
        columns["action_started_at"] = _started_at(job, context)
    return columns


def _started_at(job: Job, context: TraversalContext) -> datetime:
    """Return the time that the job's verbs know as that of its action's start.

    The jobs of one message were prepared at the same time, which is before the claim.
    """
    return context.now if job.context is None else job.context.started_at


def _goes_on(job: Job) -> bool:
    """Return whether the row shows the job's action already."""
    return job.row.state.action is job.action and job.row.state.status is Status.IN_PROGRESS
