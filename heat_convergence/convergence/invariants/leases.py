"""Rule 3: one worker at a time acts on a resource, and a late one writes nothing."""

from __future__ import annotations

from dataclasses import replace

from heat_convergence.convergence.invariants.transition import (
    StackState,
    Transition,
    ViolationMessages,
    describe,
)
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_columns, with_values
from heat_convergence.convergence.planning.job_steps import has_nested_stack


def rule_3(step: Transition) -> ViolationMessages:
    """RULE 3: one worker at a time acts on a resource; a late one writes nothing."""
    # An entry of the quarantine is taken by one observer at a time, without a lease.
    if step.call is not None and step.call.resource_id not in step.after.quarantined:
        held = step.after.by_id.get(step.call.resource_id)
        if held is None or held.lease.token != step.call.lease_token:
            yield f"{step.call.action} of {step.call.resource_id} is called without a lease"
    if step.before is None or step.engine_id is None:
        return
    if step.before.stack.version == step.after.stack.version:  # else it begins the traversal
        yield from _late_writes(step, step.before)


def _late_writes(step: Transition, previous: StackState) -> ViolationMessages:
    before = previous.by_id
    for row in step.after.resources:
        was = before.get(row.id)
        if was is None or row == with_columns(was, root_id=row.identity.root_id):
            continue  # a nested stack may have become a root
        if row.lease.token is not None and row.lease.token != was.lease.token:
            if was.lease.is_active(step.now):
                yield f"{describe(row)} was claimed while {was.lease.owner} held it"
        elif was.lease.token is not None and was.lease.token not in step.lease_tokens:
            renewed = was.lease.owner == step.engine_id and _same_but_for_expiry(was, row)
            if not (renewed or _was_posted(was, row)):
                yield f"{describe(row)} was written under a lease of another worker"
        elif was.lease.token is None and not (
            _same_but_for_expiry(was, row) or _was_posted(was, row) or _was_marked(was, row)
        ):
            yield f"{describe(row)} was written by an engine without a lease"


def _same_but_for_expiry(was: Resource, row: Resource) -> bool:
    lease = replace(was.lease, expires_at=row.lease.expires_at)
    return row == replace(was, lease=lease)


def _was_posted(was: Resource, row: Resource) -> bool:
    """Return whether the engine has posted the job after taking others off the bus."""
    return was.job.state is JobState.SCHEDULABLE and row == with_values(
        was, {"job_state": JobState.POSTED, "posted_at": row.job.posted_at}
    )


def _was_marked(was: Resource, row: Resource) -> bool:
    """Return whether the engine has stopped a nested stack below on the way to its goal."""
    return has_nested_stack(row) and row == with_columns(was, properties_hash=None)
