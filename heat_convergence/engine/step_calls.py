"""The calls to resource types, one for each step.

Called by ``execution``, perhaps in a thread of its own.  Must not touch any row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from heat_convergence.common.errors import NotSupported
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.convergence.drift.policy import RESTORE_ONLY, select_restorable
from heat_convergence.convergence.lifecycle.completion import CHECK_UNSUPPORTED_PREFIX
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import ObservedState, Verb
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.planning.step_selection import external_id
from heat_convergence.engine.jobs import Job
from heat_convergence.resources.protocol.removal import remove_physical
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import (
    NOT_CREATED,
    NeedsReplacement,
    ResourceContext,
    VerbResult,
)

LeaseCheck = Callable[[], bool]


class LeaseLost(Exception):
    """The lease may have expired: another worker may act on the resource."""


def call_step(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    """Call the resource type for the job's step.

    No call starts without the lease, the second of two no more than the first (RULE 3).

    Raises:
        LeaseLost: the lease may have expired.
        SnapshotPending: the deletion waits for a snapshot.
        NeedsReplacement: the resource takes a new incarnation.
    """
    _require_lease(lease_held)
    return STEP_CALLS[job.step](job, resource_type, context, lease_held)


def _require_lease(lease_held: LeaseCheck) -> None:
    if not lease_held():
        raise LeaseLost


def _observe_and_repair(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    """Observe the resource, and repair properties that others have changed."""
    result = resource_type.observe(context)
    lost = result.observed in (ObservedState.ABSENT, ObservedState.FAILED)
    if lost and RESTORE_ONLY in job.row.desired.hooks_and_restrictions:
        return VerbResult(ObservedState.READY, context.physical_id)  # left to another repair
    if result.observed is ObservedState.ABSENT and resource_type.restored_in_place:
        _reject_restricted_repair(job, "have deleted it")
        _require_lease(lease_held)
        return resource_type.create(replace(context, properties=job.desired_properties))
    if result.observed is not ObservedState.READY:
        return result
    drifted = _restorable(job, resource_type, context, result)
    if not drifted:
        return result
    _reject_restricted_repair(job, f"have changed {', '.join(sorted(drifted))}")
    _require_lease(lease_held)
    try:
        return resource_type.update(context, job.desired_properties, drifted)
    except (NeedsReplacement, ResourceGone):
        if RESTORE_ONLY in job.row.desired.hooks_and_restrictions:
            return result  # left to another repair, which the budget must allow
        raise


def _restorable(
    job: Job, resource_type: ResourceType, context: ResourceContext, result: VerbResult
) -> frozenset[str]:
    """Return the properties that others have changed and that drift policies let be restored."""
    drifted = resource_type.drifted_properties(context, result)
    return select_restorable(job.row.desired.hooks_and_restrictions, drifted)


def _reject_restricted_repair(job: Job, change: str) -> None:
    """Raise ``ResourceFailure`` if the environment restricts updates; others made ``change``."""
    if "update" in job.row.desired.hooks_and_restrictions:
        raise ResourceFailure(f"others {change}; the environment restricts update")


def _no_change(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    return VerbResult(ObservedState.READY)


def _create(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    return resource_type.create(context)


def _find_or_create(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    """Continue a create whose outcome was lost, instead of creating again (RULE 4)."""
    found = resource_type.find(context)
    _require_lease(lease_held)
    if found is None:
        return resource_type.create(context)
    result = resource_type.resume_create(replace(context, physical_id=found))
    return replace(result, physical_id=found)


def _observe(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    if job.has_unknown_state:
        return _observe_and_repair(job, resource_type, context, lease_held)
    return resource_type.observe(context)


def _remove(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    return remove_physical(job.step, resource_type, context, lambda: _require_lease(lease_held))


def _resume_first(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    return resource_type.resume(context) or VerbResult(ObservedState.READY)


def _with_drift(job: Job, resource_type: ResourceType, context: ResourceContext) -> Job:
    """Add the properties that others have changed to those to update."""
    result = resource_type.observe(context)
    if result.observed is ObservedState.ABSENT:
        raise ResourceGone(result.reason or f"{context.physical_id} is gone")
    if result.observed is not ObservedState.READY:
        return job
    desired = replace(context, properties=job.desired_properties)
    return replace(
        job,
        changed_properties=job.changed_properties
        | _restorable(job, resource_type, desired, result),
    )


def _update(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    """Update the resource, unless it is missing and its repair must not replace it.

    Something that it refers to may be created anew by the same traversal, which updates it then.
    """
    try:
        return _update_existing(job, resource_type, context, lease_held)
    except ResourceGone:
        if RESTORE_ONLY in job.row.desired.hooks_and_restrictions:
            return VerbResult(ObservedState.READY, context.physical_id)  # left to another repair
        raise


def _update_existing(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    """Update the resource; a failed one is observed first, as only an existing one can be."""
    if job.row.physical.applied_hash is None:
        job = _with_drift(job, resource_type, context)
        _require_lease(lease_held)
    if job.row.state.status is Status.FAILED and resource_type.update_repairs_failure:
        result = resource_type.observe(context)
        if result.observed in (ObservedState.FAILED, ObservedState.ABSENT):
            raise NeedsReplacement
    return resource_type.update(context, job.desired_properties, job.changed_properties)


def _verb(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    calls = {
        Verb.SUSPEND: resource_type.suspend,
        Verb.RESUME: resource_type.resume,
        Verb.CHECK: resource_type.check,
        Verb.SNAPSHOT: resource_type.snapshot,
    }
    if external_id(job.row) is not None and job.row.job.verb is not Verb.CHECK:
        return VerbResult(ObservedState.READY)  # it is not managed
    if job.row.job.verb is Verb.CHECK and job.row.physical.was_never_created:
        return NOT_CREATED
    call = calls.get(job.row.job.verb) if job.row.job.verb is not None else None
    result = None if call is None else call(context)
    if result is None and job.row.job.verb is Verb.CHECK:
        return VerbResult(ObservedState.READY, reason=f"{CHECK_UNSUPPORTED_PREFIX}{context.type}")
    return result or VerbResult(ObservedState.READY)


def _adopt(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    if context.physical_id is None:
        raise ResourceFailure("adopt_stack_data names no resource_id for it")
    try:
        return _existing(resource_type, context, context.physical_id)
    except ResourceFailure:
        if job.row.job.verb is Verb.ADOPT:
            raise
        raise NeedsReplacement from None  # another goal was set before the adoption


def _external(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    physical_id = external_id(job.row)
    if physical_id is None:
        raise ResourceFailure("it has no external_id")
    return _existing(resource_type, replace(context, physical_id=physical_id), physical_id)


def _existing(
    resource_type: ResourceType, context: ResourceContext, physical_id: str
) -> VerbResult:
    """Observe an existing resource; fail if it is missing."""
    try:
        result = resource_type.observe(context)
    except ResourceGone:
        result = VerbResult(ObservedState.ABSENT)
    if result.observed is ObservedState.ABSENT:
        raise ResourceFailure(f"there is no physical resource {physical_id}")
    return replace(result, physical_id=physical_id)


def _replace(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    raise NeedsReplacement


def _reject(
    job: Job, resource_type: ResourceType, context: ResourceContext, lease_held: LeaseCheck
) -> VerbResult:
    names = ", ".join(
        sorted(name for name in job.changed_properties if resource_type.schema.immutable(name))
    )
    raise NotSupported(
        f"Update to properties {names} of {context.name} ({context.type}) is not supported"
    )


StepCall = Callable[[Job, ResourceType, ResourceContext, LeaseCheck], VerbResult]

STEP_CALLS: Mapping[JobStep, StepCall] = {
    JobStep.NO_OP: _no_change,
    JobStep.CREATE: _create,
    JobStep.FIND_OR_CREATE: _find_or_create,
    JobStep.UPDATE: _update,
    JobStep.REPLACE: _replace,
    JobStep.REJECT: _reject,
    JobStep.OBSERVE: _observe,
    JobStep.DELETE: _remove,
    JobStep.SNAPSHOT_AND_DELETE: _remove,
    JobStep.FIND_AND_DELETE: _remove,
    JobStep.ABANDON_PHYSICAL: _remove,
    JobStep.RESUME_FIRST: _resume_first,
    JobStep.VERB: _verb,
    JobStep.ADOPT: _adopt,
    JobStep.EXTERNAL: _external,
}
