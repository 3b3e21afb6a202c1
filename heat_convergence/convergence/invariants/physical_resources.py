"""Rules 4 and 5: no physical resource is orphaned, duplicated or deleted too early."""

from __future__ import annotations

from heat_convergence.convergence.invariants.transition import (
    CloudCall,
    StackState,
    Transition,
    ViolationMessages,
    describe,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource


def rule_4(step: Transition) -> ViolationMessages:
    """RULE 4: intent is recorded before the call, and a row knows everything created."""
    if step.call is not None:
        yield from _unrecorded_intent(step.call, step.after)
        adopting = step.after.stack.action is Action.ADOPT
        if adopting and step.call.action is Action.CREATE and step.call.version == 1:
            yield f"{step.call.resource_id} is created where everything is to be adopted"
    yield from _orphans(step)
    ids_by_resource: dict[str, list[str]] = {}
    # The document of a stack that is to be adopted stands for all of its resources.
    several = {row.id for row in step.after.resources if row.physical.awaits_stack_adoption}
    for actual in step.existing_resources:
        if actual.resource_id not in several:
            ids_by_resource.setdefault(actual.resource_id, []).append(actual.id)
    for resource_id, ids in sorted(ids_by_resource.items()):
        if len(ids) > 1:
            yield f"resource {resource_id} exists more than once: {', '.join(sorted(ids))}"


def rule_5(step: Transition) -> ViolationMessages:
    """RULE 5: delete only what the goal does not have and no physical resource uses."""
    call = step.call
    if call is None or call.action is not Action.DELETE:
        return
    row = step.after.by_id.get(call.resource_id)
    if call.version == step.after.stack.version and (
        row is not None and row.desired.state is DesiredState.PRESENT
    ):
        yield f"{describe(row)} is desired and is being deleted"
    quarantined = call.resource_id in step.after.quarantined
    if row is not None and (quarantined or call.version == row.job.version) and _retained(row):
        yield f"{describe(row)} is to be retained and is being deleted"
    for user in step.existing_resources:
        if call.physical_id in user.used_ids and user.resource_id in step.after.by_id:
            yield f"{call.physical_id} is being deleted while {user.id} uses it"


def _unrecorded_intent(call: CloudCall, state: StackState) -> ViolationMessages:
    row = state.by_id.get(call.resource_id)
    if row is None:
        yield f"{call.action} of {call.resource_id} is called, which has no row"
    elif row.lease.token == call.lease_token and row.job.version == call.version:
        stopped = not state.stack.in_progress  # its jobs show FAILED already
        saving = call.action is Action.SNAPSHOT and row.state.action is Action.DELETE
        matches = row.state.action is call.action or saving
        if not matches or not (row.state.status is Status.IN_PROGRESS or stopped):
            shown = f"{row.state.action} {row.state.status}"
            yield f"{describe(row)} shows {shown} when {call.action} is called"


def _orphans(step: Transition) -> ViolationMessages:
    rows = step.after.by_id
    for actual in step.existing_resources:
        row = rows.get(actual.resource_id)
        if row is None:
            yield f"{actual.id} exists and no row knows it"
        elif step.after.stack.deleted_at is not None and row.id not in step.after.quarantined:
            yield f"{actual.id} outlasts its stack and is not in quarantine"
        elif row.physical.id not in (None, actual.id):
            yield f"{actual.id} was created for {describe(row)}, which has {row.physical.id}"
        elif (
            row.physical.id is None
            and row.state.action is Action.INIT
            and not row.physical.awaits_stack_adoption
        ):
            yield f"{actual.id} exists, but {describe(row)} says it was never started"


def _retained(row: Resource) -> bool:
    return row.desired.definition.get("deletion_policy") == "Retain"
