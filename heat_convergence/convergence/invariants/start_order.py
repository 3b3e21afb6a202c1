"""Rules 2 and 6: a job starts after its requirements, and only in the current version."""

from __future__ import annotations

from heat_convergence.convergence.invariants.transition import (
    StackState,
    Transition,
    ViolationMessages,
    describe,
    newly_claimed,
)
from heat_convergence.convergence.model.job import JobState


def rule_2(step: Transition) -> ViolationMessages:
    """RULE 2: a job runs only when everything that it needs is observed ready."""
    unready = step.after.unready_requirements
    for row in newly_claimed(step):
        if row.id in unready:
            yield f"{describe(row)} was claimed before what it needs was ready"
    call = step.call
    current = call is not None and call.version == step.after.stack.version
    if call is not None and current and call.resource_id in unready:
        yield f"{call.action} of {call.resource_id} is called before what it needs is ready"
    if step.after.stack.in_progress:
        yield from _contradicting_readiness(step.after)


def rule_6(step: Transition) -> ViolationMessages:
    """RULE 6: a job of an older version starts nothing."""
    for row in newly_claimed(step):
        if row.job.version != step.after.stack.version:
            yield f"{describe(row)} was claimed for version {row.job.version} of the stack"
        if not step.after.stack.in_progress:
            yield f"{describe(row)} was claimed though its stack is at rest"


def _contradicting_readiness(state: StackState) -> ViolationMessages:
    """Check that resources are marked ready exactly when their jobs are done.

    An edge with a level is ready then, too, and may be so before.
    """
    ready: dict[str, bool] = {}
    early = [edge for edge in state.edges if edge.level is not None]
    for edge in state.edges:
        if edge.level is not None:
            continue
        ready.setdefault(edge.resource_id, edge.observed_ready)
        if ready[edge.resource_id] != edge.observed_ready:
            yield f"resource {edge.resource_id} is both ready and not"
    for edge in early:
        if edge.resource_id not in ready:
            yield f"resource {edge.resource_id} has no edge that waits until it is done"
        elif ready[edge.resource_id] and not edge.observed_ready:
            yield f"resource {edge.resource_id} is done and has not reached {edge.level}"
    for row in state.resources:
        done = row.job.verb is None or row.id in state.quarantined
        if row.id in ready and ready[row.id] != done:
            yield f"{describe(row)} has job {row.job.verb} and is marked ready={ready[row.id]}"
        if (
            row.job.verb is not None
            and row.id not in ready
            and row.job.state is not JobState.CANCELLED
        ):
            yield f"{describe(row)} has a job and is not in the graph"
