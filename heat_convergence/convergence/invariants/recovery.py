"""Rules 1 and 9: rows alone lead to everything that can be done, and stacks do not stall."""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.convergence.invariants.transition import (
    Transition,
    ViolationMessages,
    describe,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import COUNTED_IN_FLIGHT, DesiredState, JobState
from heat_convergence.graph.graph import Graph

_UNDER_WAY = COUNTED_IN_FLIGHT | {JobState.QUEUED}
_VERB_ACTIONS = frozenset({Action.SUSPEND, Action.RESUME, Action.CHECK, Action.SNAPSHOT})


def rule_1(step: Transition) -> ViolationMessages:
    """RULE 1: rows alone lead to everything that can be done; no message is needed."""
    stack = step.after.stack
    for row in step.after.resources:
        if (
            row.job.state in (JobState.RETRY, JobState.REPLACE)
            and row.observation.observe_at is None
        ):
            yield f"{describe(row)} is in {row.job.state} and no time is set to observe it"
        if (
            row.job.state is JobState.POSTED
            and row.observation.observe_at is None
            and row.job.posted_at is None
        ):
            yield f"{describe(row)} is posted at no time, so that no sweep finds it"
        if (row.job.verb is None) != (row.job.state is None):
            yield f"{describe(row)} has job {row.job.verb} in state {row.job.state}"
    if stack.in_progress and stack.first_failure_reason is None:
        waiting = step.after.unready_requirements
        unready = {edge.resource_id for edge in step.after.edges if not edge.observed_ready}
        for row in step.after.resources:
            if row.job.state is JobState.BLOCKED and row.id not in waiting:
                yield f"{describe(row)} waits for nothing and is not queued"
            if row.job.state in _UNDER_WAY and row.id not in unready:
                yield f"{describe(row)} is marked ready and its job is under way"


def rule_9(step: Transition) -> ViolationMessages:
    """RULE 9: no stack stays IN_PROGRESS for lack of a worker."""
    stack = step.after.stack
    if not stack.in_progress:
        return
    if stack.deadline_at is None or stack.started_at is None:
        yield f"stack {stack.name} is in progress and no time is set for its end"
    if stack.first_failure_reason is None:
        for row in step.after.resources:
            deferred = stack.action in _VERB_ACTIONS and row.desired.state is DesiredState.ABSENT
            left = deferred or row.id in step.after.quarantined
            if row.job.state is JobState.CANCELLED and not left:
                yield f"{describe(row)} is cancelled in a stack that goes on"
    if _has_cycle(step.after.edges):
        yield f"the graph of stack {stack.name} has a cycle"


def _has_cycle(edges: Sequence[Edge]) -> bool:
    needs: dict[str, set[str]] = {}
    for edge in edges:
        if edge.needed_by is not None and not edge.observed_ready:
            needs.setdefault(edge.needed_by, set()).add(edge.resource_id)
    return bool(needs) and Graph.from_requirements(needs).find_cycle() is not None
