"""Failures of resources, and of the traversals that they stop.

Called by ``progress``, ``sweeps`` and ``stack_actions`` under the stack's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from heat_convergence.convergence.lifecycle import completion, dispatch
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import (
    Observations,
    with_observation_mark,
)
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import has_nested_stack
from heat_convergence.convergence.ports.store import Transaction


def fail_rows(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> str | None:
    """Mark resources FAILED; return the first cause of the stack's failure, if any."""
    if not rows:
        return stack.first_failure_reason
    cause, changes, events = stack.first_failure_reason, {}, []
    for row in rows:
        observation = observations.get(row.id)
        reason = shown = row.state.reason if observation is None else observation.reason
        status, action = Status.FAILED, row.state.action
        if observation is None and row.observation.state is ObservedState.SKIPPED:
            # The action was restricted: the resource is what it was.
            status, action, shown = row.state.status, Action.UPDATE, reason.rsplit(": ", 1)[-1]
        changes[row.id] = (
            job_transitions.fail(),
            {"status": status, "status_reason": shown},
        )
        marked = with_observation_mark(row, observation)
        events.append(context.resource_event(marked, action, Status.FAILED, shown))
        cause = cause or f"Resource {action} failed: {reason}"
    tx.jobs.apply_each(changes)
    tx.events.insert(events)
    return cause


def record_failed_check(
    tx: Transaction, stack: Stack, cause: str, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Fail a check when all is checked that does not depend on a failed resource."""
    load = tx.jobs.get_workload(stack.project_id, stack.id)
    if not load.is_stack_busy:
        return completion.fail_traversal(tx, stack, cause, context)
    if stack.first_failure_reason is None:
        tx.stacks.update(stack.id, first_failure_reason=cause)
    return ()


def stop_after_failure(
    tx: Transaction, stack: Stack, cause: str, context: TraversalContext
) -> ProgressResult:
    """Start nothing new after a failure.

    Jobs under way may finish; then the stack is FAILED with its first cause.  A stack that
    is to roll back does so at once.
    """
    first = stack.first_failure_reason is None
    if first and completion.should_roll_back(stack):
        return ProgressResult(stack, rollback_reason=cause)
    running = completion.cancel_unstarted_jobs(tx, stack, context)
    return _await_running_jobs(tx, stack, cause, context, running)


def stop_traversal(
    tx: Transaction,
    stack: Stack,
    cause: str,
    context: TraversalContext,
    rows: Sequence[Resource],
) -> ProgressResult:
    """Start nothing new because a user has cancelled the stack; it is not rolled back.

    Args:
        tx: the transaction.
        stack: the stack; it and its nested stacks are locked.
        cause: the reason of its failure.
        context: the time, the ids and the settings.
        rows: its resources, locked.
    """
    starting = frozenset(row.id for row in rows if _starts_nested_stack(row))
    running = completion.cancel_unstarted_jobs(tx, stack, context, starting)
    return _await_running_jobs(tx, stack, cause, context, running)


def _starts_nested_stack(row: Resource) -> bool:
    """Return whether a worker is about to start the nested stack of the resource."""
    return row.job.state is JobState.RUNNING and has_nested_stack(row)


def _await_running_jobs(
    tx: Transaction, stack: Stack, cause: str, context: TraversalContext, running: int
) -> ProgressResult:
    """Let jobs under way finish within a limit; without any the stack is FAILED now."""
    if running == 0:
        return ProgressResult(stack, completion.fail_traversal(tx, stack, cause, context))
    if stack.first_failure_reason is None:
        limit = context.now + timedelta(seconds=context.settings.error_wait_s)
        deadline = min(stack.deadline_at or limit, limit)
        tx.stacks.update(stack.id, first_failure_reason=cause, deadline_at=deadline)
    return ProgressResult(stack, dispatch.dispatch_next(tx, stack, context))
