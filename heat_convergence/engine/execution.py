"""A job's one call to its resource type, and what came of it.

Called by ``engine`` between the claim and the record, perhaps in a thread of its
own; touches no row.  Every way a call can end becomes an ``Outcome``.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from heat_convergence.common.errors import (
    Error,
    NotSupported,
    ResourceFailure,
    ResourceGone,
    Retry,
)
from heat_convergence.convergence.lifecycle.completion import CHECK_UNSUPPORTED_PREFIX
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import ObservedState, Verb
from heat_convergence.convergence.planning.job_steps import JobStep, MissingResourceEffect
from heat_convergence.convergence.planning.step_selection import external_id
from heat_convergence.engine.jobs import Job
from heat_convergence.resources.protocol.resource_type import (
    NeedsReplacement,
    ResourceContext,
    ResourceType,
    VerbResult,
)

LOG = logging.getLogger(__name__)
LeaseCheck = Callable[[], bool]


class SnapshotPending(Exception):
    """The copy that has to be there before the deletion is still being made."""

    def __init__(self, result: VerbResult) -> None:
        super().__init__("not saved yet")
        self.result = result


class LeaseLost(Exception):
    """The lease may have run out: somebody else may be at work on the resource."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job's call led to.

    ``look`` (reality after the call), ``replace`` or ``error`` says it; a look beside
    ``replace`` is what makes a successor necessary; an error with a retry is tried
    again after ``retry_after_s``.  What is ``unfinished`` is to be gone on with, which is no
    failure and counts no try.  Nothing is said of a job that was ``lost``: its call was
    not begun, and whoever has it now does it.
    """

    job: Job
    result: VerbResult | None = None
    needs_replacement: bool = False
    error: Error | None = None
    lease_lost: bool = False
    unfinished: bool = False

    def as_storage_failure(self, error: Error) -> Outcome:
        """The same call, as a failure: what it gave can't be stored.  The physical id
        alone is kept, so that the resource can be found and deleted."""
        look = self.result
        kept = (
            None
            if look is None
            else VerbResult(ObservedState.FAILED, physical_id=look.physical_id)
        )
        return Outcome(
            replace(self.job, desired_properties=self.job.row.properties or {}),
            result=kept,
            error=ResourceFailure(f"its values can't be stored: {error}"),
        )

    @property
    def retryable(self) -> bool:
        """Whether the same may be tried again: a deletion always, for nothing else
        gets rid of what is there."""
        deleting = self.job.action is Action.DELETE
        if self.error is not None:
            return deleting or self.error.retry is not Retry.NEVER
        return deleting and self._failed

    @property
    def retry_with_new_incarnation(self) -> bool:
        """Whether another incarnation may turn out better than this one."""
        return self._failed and self.result is not None and self.result.retry_with_new_incarnation

    @property
    def _failed(self) -> bool:
        return self.result is not None and self.result.observed is ObservedState.FAILED


def execute_job(job: Job, lease_held: LeaseCheck) -> Outcome:
    """Does the job's step, as long as the job's lease is ``held``."""
    outcome = _performed(job, lease_held)
    restricted = job.action is Action.UPDATE and "replace" in job.row.hooks_and_restrictions
    if not outcome.needs_replacement or not restricted:
        return outcome
    # It turned out only now: what can be told before was refused with the job.
    look = outcome.result
    why = "it cannot be changed in place" if look is None else look.reason or "it is gone"
    return Outcome(job, error=ResourceFailure(f"{why}; the environment restricts replace"))


def _performed(job: Job, held: LeaseCheck) -> Outcome:
    if job.error is not None or job.resource_type is None or job.context is None:
        return Outcome(job, error=job.error or ResourceFailure("the job has no type"))
    try:
        look = _call(job, job.resource_type, job.context, held)
        went_well = look.observed in (ObservedState.READY, ObservedState.BUSY)
        return _inherited(Outcome(job, result=look, unfinished=job.has_next_step and went_well))
    except LeaseLost:
        LOG.warning("lease lost: resource %(resource)s", {"resource": job.row.id})
        return Outcome(job, lease_lost=True)
    except NeedsReplacement:
        return Outcome(job, needs_replacement=True)
    except SnapshotPending as waits:
        return Outcome(job, result=waits.result, unfinished=True)
    except ResourceGone as error:
        return _gone(job, error)
    except Error as error:
        return Outcome(job, error=error)
    except Exception as error:
        # The outermost edge towards third-party code: whatever it raises fails this
        # resource with its name and text, and never the worker.
        if job.row.sensitive:
            _log_place(job, error)
        else:
            LOG.exception("resource type raised: resource %(resource)s", {"resource": job.row.id})
        return Outcome(job, error=ResourceFailure(f"{type(error).__name__}: {error}"))


def _log_place(job: Job, error: Exception) -> None:
    """Without the text, which may quote a secret."""
    where = "".join(traceback.format_tb(error.__traceback__))
    LOG.error(
        "resource type raised: resource %(resource)s, %(kind)s at\n%(where)s",
        {"resource": job.row.id, "kind": type(error).__name__, "where": where},
    )


def _gone(job: Job, error: ResourceGone) -> Outcome:
    """What is to be deleted and is not there is deleted; what is to be changed and
    is not there needs a successor."""
    effect = job.step.traits.missing_effect
    if effect is MissingResourceEffect.DELETED:
        return Outcome(job, result=VerbResult(ObservedState.ABSENT))
    missing = VerbResult(ObservedState.ABSENT, reason="it is not there")
    if effect is MissingResourceEffect.REPLACED:
        return Outcome(job, result=missing, needs_replacement=True)
    if effect is MissingResourceEffect.OBSERVED_ABSENT:
        return _inherited(Outcome(job, result=missing))
    return Outcome(job, error=error)


def _inherited(outcome: Outcome) -> Outcome:
    """What came to nothing in an earlier traversal, and no update has mended, is no
    failure of this one: it needs a successor."""
    job, look = outcome.job, outcome.result
    goes_on = job.step in (JobStep.OBSERVE, JobStep.FIND_OR_CREATE)
    whole = job.row.status is Status.COMPLETE and job.row.applied_hash is not None
    mends = job.step is JobStep.UPDATE and not whole
    lost = look is not None and look.observed in (ObservedState.FAILED, ObservedState.ABSENT)
    begun_before = job.begun_in_earlier_traversal and (goes_on or mends)
    handed = job.step is JobStep.ADOPT and job.row.job is Verb.CONVERGE
    woken = job.step is JobStep.RESUME_FIRST  # and turns out to be no more
    successor = lost and (begun_before or _unseen(job) or handed or woken)
    return replace(outcome, needs_replacement=successor)


def _unseen(job: Job) -> bool:
    """Whether it was there, and is to be looked at because nobody knows how it is now:
    nothing that this traversal did can be to blame."""
    looked = job.step is JobStep.OBSERVE and job.action is Action.UPDATE
    return looked and job.row.applied_hash is None


def _call(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    """RULE 3: no call begins without the lease, the second of two no more than the
    first."""
    _require(held)
    return STEP_CALLS[job.step](job, resource_type, view, held)


def _require(held: LeaseCheck) -> None:
    if not held():
        raise LeaseLost


def _converged(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    """Looks, and sets right what others have changed."""
    look = resource_type.observe(view)
    if look.observed is not ObservedState.READY:
        return look
    other = resource_type.drifted_properties(view, look)
    if not other:
        return look
    if "update" in job.row.hooks_and_restrictions:
        names = ", ".join(sorted(other))
        raise ResourceFailure(f"others have changed {names}; the environment restricts update")
    _require(held)
    return resource_type.update(view, job.desired_properties, other)


def _no_change(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    return VerbResult(ObservedState.READY)


def _abandon(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    return VerbResult(ObservedState.ABSENT)


def _create(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    return resource_type.create(view)


def _find_or_create(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    """RULE 4: what a lost create has made is taken on, not made again."""
    found = resource_type.find(view)
    _require(held)
    if found is None:
        return resource_type.create(view)
    look = resource_type.resume_create(replace(view, physical_id=found))
    return replace(look, physical_id=found)


def _observe(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    if _unseen(job):
        return _converged(job, resource_type, view, held)
    return resource_type.observe(view)


def _find_and_delete(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    found = resource_type.find(view)
    _require(held)
    if found is None:
        return VerbResult(ObservedState.ABSENT)
    return _delete(job, resource_type, replace(view, physical_id=found), held)


def _snapshot_and_delete(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    _save(resource_type, view)
    _require(held)
    return _delete(job, resource_type, view, held)


def _resume_first(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    return resource_type.resume(view) or VerbResult(ObservedState.READY)


def _save(resource_type: ResourceType, view: ResourceContext) -> None:
    """Returns when a copy is there, or there is nothing that is worth one.  A type that
    has no way to save was told apart when the template was validated."""
    look = resource_type.snapshot(view) if resource_type.allows_snapshot_on_delete else None
    if look is not None and look.observed is ObservedState.BUSY:
        raise SnapshotPending(look)
    if look is not None and look.observed is not ObservedState.READY:
        raise ResourceFailure(look.reason or "it could not be saved")


def _delete(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    look = resource_type.delete(view)
    # Whatever its health: what is still there is not deleted yet.
    observed = ObservedState.BUSY if look.observed is ObservedState.READY else look.observed
    return replace(look, observed=observed, physical_id=look.physical_id or view.physical_id)


def _with_others(job: Job, resource_type: ResourceType, view: ResourceContext) -> Job:
    """What others have changed meanwhile is changed along."""
    look = resource_type.observe(view)
    if look.observed is ObservedState.ABSENT:
        raise ResourceGone(look.reason or f"{view.physical_id} is gone")
    if look.observed is not ObservedState.READY:
        return job
    wanted = replace(view, properties=job.desired_properties)
    return replace(
        job,
        changed_properties=job.changed_properties | resource_type.drifted_properties(wanted, look),
    )


def _update(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    """What has failed is looked at first: only what lives can be mended."""
    if job.row.applied_hash is None:
        job = _with_others(job, resource_type, view)
        _require(held)
    if job.row.status is Status.FAILED and resource_type.update_repairs_failure:
        look = resource_type.observe(view)
        if look.observed in (ObservedState.FAILED, ObservedState.ABSENT):
            raise NeedsReplacement
    return resource_type.update(view, job.desired_properties, job.changed_properties)


def _verb(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    calls = {
        Verb.SUSPEND: resource_type.suspend,
        Verb.RESUME: resource_type.resume,
        Verb.CHECK: resource_type.check,
        Verb.SNAPSHOT: resource_type.snapshot,
    }
    if external_id(job.row) is not None and job.row.job is not Verb.CHECK:
        return VerbResult(ObservedState.READY)  # it is not ours to stop or to save
    call = calls.get(job.row.job) if job.row.job is not None else None
    look = None if call is None else call(view)
    if look is None and job.row.job is Verb.CHECK:
        return VerbResult(ObservedState.READY, reason=f"{CHECK_UNSUPPORTED_PREFIX}{view.type}")
    return look or VerbResult(ObservedState.READY)


def _adopt(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    if view.physical_id is None:
        raise ResourceFailure("adopt_stack_data names no resource_id for it")
    try:
        return _existing(resource_type, view, view.physical_id)
    except ResourceFailure:
        if job.row.job is Verb.ADOPT:
            raise
        raise NeedsReplacement from None  # another goal came before it was adopted


def _external(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    physical_id = external_id(job.row)
    if physical_id is None:
        raise ResourceFailure("it has no external_id")
    return _existing(resource_type, replace(view, physical_id=physical_id), physical_id)


def _existing(resource_type: ResourceType, view: ResourceContext, physical_id: str) -> VerbResult:
    """Reality is looked at and nothing else; what is not there is a failure."""
    try:
        look = resource_type.observe(view)
    except ResourceGone:
        look = VerbResult(ObservedState.ABSENT)
    if look.observed is ObservedState.ABSENT:
        raise ResourceFailure(f"there is no physical resource {physical_id}")
    return replace(look, physical_id=physical_id)


def _replace(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    raise NeedsReplacement


def _refuse(
    job: Job, resource_type: ResourceType, view: ResourceContext, held: LeaseCheck
) -> VerbResult:
    names = ", ".join(
        sorted(name for name in job.changed_properties if resource_type.schema.immutable(name))
    )
    raise NotSupported(
        f"Update to properties {names} of {view.name} ({view.type}) is not supported"
    )


StepCall = Callable[[Job, ResourceType, ResourceContext, LeaseCheck], VerbResult]

STEP_CALLS: Mapping[JobStep, StepCall] = {
    JobStep.NO_OP: _no_change,
    JobStep.CREATE: _create,
    JobStep.FIND_OR_CREATE: _find_or_create,
    JobStep.UPDATE: _update,
    JobStep.REPLACE: _replace,
    JobStep.REJECT: _refuse,
    JobStep.OBSERVE: _observe,
    JobStep.DELETE: _delete,
    JobStep.SNAPSHOT_AND_DELETE: _snapshot_and_delete,
    JobStep.FIND_AND_DELETE: _find_and_delete,
    JobStep.ABANDON_PHYSICAL: _abandon,
    JobStep.RESUME_FIRST: _resume_first,
    JobStep.VERB: _verb,
    JobStep.ADOPT: _adopt,
    JobStep.EXTERNAL: _external,
}
