"""The deletion of a physical resource, as its removal step says.

Called by engines for the jobs of stacks, and by observers for resources in quarantine. Must not
touch any row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult


class SnapshotPending(Exception):
    """The snapshot that the deletion waits for is not complete."""

    def __init__(self, result: VerbResult) -> None:
        super().__init__("not saved yet")
        self.result = result


def remove_physical(
    step: JobStep,
    resource_type: ResourceType,
    context: ResourceContext,
    before_next_call: Callable[[], None] = lambda: None,
) -> VerbResult:
    """Delete a physical resource, or leave it, as its step says.

    Args:
        step: a step that removes.
        resource_type: the type.
        context: the context of the deletion.
        before_next_call: called between two calls; what it raises prevents the second one.

    Raises:
        SnapshotPending: the deletion waits for a snapshot.
    """
    if step is JobStep.ABANDON_PHYSICAL:
        return VerbResult(ObservedState.ABSENT)
    if step is JobStep.SNAPSHOT_AND_DELETE:
        _save(resource_type, context)
        before_next_call()
    if step is JobStep.FIND_AND_DELETE:
        found = resource_type.find(context)
        before_next_call()
        if found is None:
            return VerbResult(ObservedState.ABSENT)
        context = replace(context, physical_id=found)
    return _delete(resource_type, context)


def _save(resource_type: ResourceType, context: ResourceContext) -> None:
    """Save the resource before its deletion.

    Types without a snapshot were rejected by the validation of the template.
    """
    result = resource_type.snapshot(context) if resource_type.allows_snapshot_on_delete else None
    if result is not None and result.observed is ObservedState.BUSY:
        raise SnapshotPending(result)
    if result is not None and result.observed is not ObservedState.READY:
        raise ResourceFailure(result.reason or "it could not be saved")


def _delete(resource_type: ResourceType, context: ResourceContext) -> VerbResult:
    result = resource_type.delete(context)
    # Whatever its health is, a resource that exists is not deleted yet.
    observed = ObservedState.BUSY if result.observed is ObservedState.READY else result.observed
    return replace(
        result, observed=observed, physical_id=result.physical_id or context.physical_id
    )
