"""The execution of a job: its call to the resource type becomes an outcome.

Called by ``engine`` between the claim and the record, perhaps in a thread of its own.
Must not touch any row.  Every way in which a call can end becomes an ``Outcome``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error, Retry
from heat_convergence.common.failures import CallRefused, ResourceFailure, ResourceGone
from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.common.telemetry import tracing
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import ObservedState, Verb
from heat_convergence.convergence.planning.job_steps import (
    JobStep,
    MissingResourceEffect,
    is_health_demanded,
)
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.step_calls import LeaseCheck, LeaseLost, call_step
from heat_convergence.resources.protocol.removal import SnapshotPending
from heat_convergence.resources.protocol.verb_values import NeedsReplacement, VerbResult

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job's call.

    ``result``, ``needs_replacement`` or ``error`` says what has happened; a result beside
    ``needs_replacement`` is the cause of the replacement.

    Attributes:
        result: the state of the physical resource after the call.
        error: a failure, tried again if its ``retry`` allows it.
        lease_lost: the call was not made; another worker does it.
        unfinished: the job has another step, which is no failure and counts no try.
        called_at: when the call began; None where it is part of the record.
        answered_at: when it ended.
    """

    job: Job
    result: VerbResult | None = None
    needs_replacement: bool = False
    error: Error | None = None
    lease_lost: bool = False
    unfinished: bool = False
    called_at: datetime | None = None
    answered_at: datetime | None = None

    def as_failure(self, error: Error) -> Outcome:
        """Return the call as a failure, as its outcome cannot be recorded.

        Only the physical id is kept, so that the resource can be found and deleted.
        """
        result = self.result
        kept = (
            None
            if result is None
            else VerbResult(ObservedState.FAILED, physical_id=result.physical_id)
        )
        return Outcome(
            replace(
                self.job, desired_properties=readable_or_empty(self.job.row.physical.properties)
            ),
            result=kept,
            error=error,
            called_at=self.called_at,
            answered_at=self.answered_at,
        )

    @property
    def refused(self) -> bool:
        """True if the call was not made, which counts no try: it is made later."""
        return isinstance(self.error, CallRefused)

    @property
    def retryable(self) -> bool:
        """True if the call may be made again; a deletion always may.

        Nothing else removes the physical resource.
        """
        deleting = self.job.action is Action.DELETE
        if self.refused:
            return False
        if self.error is not None:
            return deleting or self.error.retry is not Retry.NEVER
        return deleting and self._failed

    @property
    def ends_with_claim(self) -> bool:
        """True if the observer alone decides what follows, and no other row is changed."""
        goes_on = self.needs_replacement or self.lease_lost or self.unfinished or self.refused
        tried_again = self.retryable or self.retry_with_new_incarnation
        resets_data = self.result is not None and bool(self.result.data_resets)
        return not (goes_on or tried_again or resets_data)

    @property
    def retry_with_new_incarnation(self) -> bool:
        """True if another incarnation may succeed where this one failed."""
        new = self.job.action is Action.CREATE and self._failed
        return new and self.result is not None and self.result.retry_with_new_incarnation

    @property
    def _failed(self) -> bool:
        return self.result is not None and self.result.observed is ObservedState.FAILED


def execute_job(job: Job, lease_held: LeaseCheck, errors: ErrorLog | None = None) -> Outcome:
    """Do the step of a job, as long as its lease is held.

    RULE 11: whatever a resource type raises fails this resource, never the worker.
    """
    boundary, row = ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors or ErrorLog()), job.row
    with tracing.span(
        "job",
        stack=row.stack_id,
        resource=row.name,
        resource_type=row.desired.implementation,
        action=job.action.value,
        step=job.step.name,
    ):
        return boundary.fail_resource(
            lambda: _execute(job, lease_held),
            lambda failure: Outcome(job, error=failure),
            ErrorSubject(row.stack_id, row.name),
        )


def _execute(job: Job, lease_held: LeaseCheck) -> Outcome:
    outcome = _perform(job, lease_held)
    restricted = (
        job.action is Action.UPDATE and "replace" in job.row.desired.hooks_and_restrictions
    )
    if not outcome.needs_replacement or not restricted:
        return outcome
    # The call has shown it; a replacement that was known before was rejected with the job.
    result = outcome.result
    why = "it cannot be changed in place" if result is None else result.reason or "it is gone"
    return Outcome(job, error=ResourceFailure(f"{why}; the environment restricts replace"))


def _perform(job: Job, lease_held: LeaseCheck) -> Outcome:
    if job.error is not None or job.resource_type is None or job.context is None:
        return Outcome(job, error=job.error or ResourceFailure("the job has no type"))
    try:
        result = call_step(job, job.resource_type, job.context, lease_held)
        result = result.as_demanded(is_health_demanded(job.row))
        went_well = result.observed in (ObservedState.READY, ObservedState.BUSY)
        return _replace_inherited_failure(
            Outcome(job, result=result, unfinished=job.has_next_step and went_well)
        )
    except LeaseLost:
        LOG.warning(
            "lease lost, another worker does the job: stack=%(stack)s resource=%(resource)s",
            {"stack": job.row.stack_id, "resource": job.row.name},
        )
        return Outcome(job, lease_lost=True)
    except NeedsReplacement:
        return Outcome(job, needs_replacement=True)
    except SnapshotPending as waits:
        return Outcome(job, result=waits.result, unfinished=True)
    except ResourceGone as error:
        return _missing(job, error)
    except Error as error:
        return Outcome(job, error=error)


def _missing(job: Job, error: ResourceGone) -> Outcome:
    """Return the outcome of a step whose physical resource is missing."""
    effect = job.step.traits.missing_effect
    if effect is MissingResourceEffect.DELETED:
        return Outcome(job, result=VerbResult(ObservedState.ABSENT))
    missing = VerbResult(ObservedState.ABSENT, reason="it is not there")
    if effect is MissingResourceEffect.REPLACED:
        return Outcome(job, result=missing, needs_replacement=True)
    if effect is MissingResourceEffect.OBSERVED_ABSENT:
        return _replace_inherited_failure(Outcome(job, result=missing))
    return Outcome(job, error=error)


def _replace_inherited_failure(outcome: Outcome) -> Outcome:
    """Replace, rather than fail, a resource whose failure predates this traversal."""
    job, result = outcome.job, outcome.result
    continues = job.step in (JobStep.OBSERVE, JobStep.FIND_OR_CREATE)
    whole = job.row.state.status is Status.COMPLETE and job.row.physical.applied_hash is not None
    repairs = job.step is JobStep.UPDATE and not whole
    lost = result is not None and result.observed in (ObservedState.FAILED, ObservedState.ABSENT)
    started_before = job.started_in_earlier_traversal and (continues or repairs)
    adopted = job.step is JobStep.ADOPT and job.row.job.verb is Verb.CONVERGE
    resumed = job.step is JobStep.RESUME_FIRST  # and found missing
    successor = lost and (started_before or job.has_unknown_state or adopted or resumed)
    return replace(outcome, needs_replacement=successor)
