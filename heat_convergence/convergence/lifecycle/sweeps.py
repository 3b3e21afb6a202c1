"""The steps of sweeps: deadlines, cancelled nested stacks, and stacks that stall.

Called by ``observer`` for what its sweep finds (RULE 1, RULE 9), and for messages about a
stack itself.  Each takes the stack's lock and checks again whether there is anything to do.
"""

from __future__ import annotations

from datetime import timedelta

from heat_convergence.common.failures import InternalError
from heat_convergence.convergence.lifecycle import breakpoints, completion, dispatch
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested import parent_notification
from heat_convergence.convergence.lifecycle.observations import Observation
from heat_convergence.convergence.lifecycle.progress.failures import stop_after_failure
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.quarantine import failed_deletions
from heat_convergence.convergence.lifecycle.stabilization.window import complete_when_stable
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import COUNTED_IN_FLIGHT, JobState, ObservedState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def handle_timeout(tx: Transaction, stack_id: str, context: TraversalContext) -> ProgressResult:
    """Fail a stack whose deadline has passed, or roll it back."""
    stack = tx.stacks.lock(stack_id)
    overdue = (
        stack is not None
        and stack.in_progress
        and stack.deadline_at is not None
        and stack.deadline_at <= context.now
    )
    if stack is None or not overdue:
        return ProgressResult(None)
    if stack.first_failure_reason is None and completion.should_roll_back(stack):
        return ProgressResult(stack, rollback_reason=completion.TIMED_OUT)
    if failed_deletions.is_requested(stack) and stack.first_failure_reason is None:
        progress = _quarantine_overdue(tx, stack, context)
        if progress is not None:
            return progress
    reason = stack.first_failure_reason or completion.TIMED_OUT
    return ProgressResult(stack, completion.fail_traversal(tx, stack, reason, context))


def _quarantine_overdue(
    tx: Transaction, stack: Stack, context: TraversalContext
) -> ProgressResult | None:
    """Quarantine what an overdue deletion waits for, and go on with the rest for a while.

    A resource that a worker acts on, and one that waits for its nested stack, which has a
    deadline of its own, are left to the next deadline.

    Returns:
        None if the stack waits at a breakpoint, or does not go on without the resources.
    """
    rows = tx.jobs.lock_by_stack(stack.id)
    if any(row.job.state is JobState.AT_BREAKPOINT for row in rows):
        return None
    stuck = [
        row
        for row in rows
        if row.job.state in COUNTED_IN_FLIGHT
        and not row.awaits_nested_stack
        and not row.lease.is_active(context.now)
    ]
    reason = f"{Action.DELETE} aborted ({completion.TIMED_OUT})"
    observations = {row.id: Observation(ObservedState.FAILED, reason) for row in stuck}
    ids = sorted(observations)
    tx.jobs.apply(ids, job_transitions.cancel(), status=Status.FAILED, status_reason=reason)
    tx.jobs.apply(ids, job_transitions.drop_lease())  # RULE 3: a late worker matches no row
    tx.events.insert(
        [context.resource_event(row, Action.DELETE, Status.FAILED, reason) for row in stuck]
    )
    if stuck and not failed_deletions.quarantine_failed(tx, stack, stuck, observations, context):
        return None
    if not tx.readiness.find_unready_stacks([stack.id]):
        return ProgressResult(stack, completion.complete_traversal(tx, stack, context))
    deadline = context.now + timedelta(seconds=context.settings.error_wait_s)
    tx.stacks.update(stack.id, deadline_at=deadline)
    return ProgressResult(stack, dispatch.dispatch_next(tx, stack, context))


def fail_overdue_stack(
    tx: Transaction, stack_id: str, error_id: str, context: TraversalContext
) -> ProgressResult:
    """Fail an overdue stack whose end by ``handle_timeout`` has raised."""
    reason = f"{completion.TIMED_OUT}; {InternalError(error_id).message}"
    return fail_unprocessable_stack(tx, stack_id, reason, context)


def fail_unprocessable_stack(
    tx: Transaction, stack_id: str, reason: str, context: TraversalContext
) -> ProgressResult:
    """Fail a stack whose rows cannot be processed.

    Its jobs are neither cancelled nor rolled back, which would need the rows (RULE 11).  The
    next action plans them anew.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or not stack.in_progress:
        return ProgressResult(None)
    tx.stacks.update(
        stack_id,
        status=Status.FAILED,
        status_reason=reason,
        deadline_at=None,
        first_failure_reason=None,
    )
    return ProgressResult(stack)


def cancel_nested_stack(
    tx: Transaction, stack_id: str, context: TraversalContext
) -> ProgressResult:
    """Cancel a nested stack whose parent does not wait for it any more."""
    stack = tx.stacks.lock(stack_id)
    if stack is None or not stack.in_progress or stack.owner_resource_id is None:
        return ProgressResult(None)
    rows = tx.resources.get([stack.owner_resource_id])
    if not any(
        parent_notification.is_nested_stack_cancelled(row) and row.physical.id == stack.id
        for row in rows
    ):
        return ProgressResult(None)
    reason = f"Stack {stack.action} cancelled"
    return ProgressResult(stack, completion.fail_traversal(tx, stack, reason, context))


def resume_stalled(
    tx: Transaction, stack_id: str, version: int, context: TraversalContext
) -> ProgressResult:
    """Let a stack go on that has nothing in flight.

    There is nothing to do unless rows contradict each other; then the jobs that may start
    are posted, or the traversal ends.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or not stack.in_progress or stack.version != version:
        return ProgressResult(None)
    if stack.first_failure_reason is not None:
        return stop_after_failure(tx, stack, stack.first_failure_reason, context)
    blocked = tx.readiness.find_wrongly_blocked(stack_id, version)
    held = breakpoints.pause_before_jobs(tx, stack, tx.resources.lock(blocked), context)
    leaves = [row_id for row_id in blocked if row_id not in held]
    messages = dispatch.schedule_leaves(tx, stack, leaves, context)
    if not leaves and not tx.readiness.find_unready_stacks([stack_id]):
        end = complete_when_stable(tx, [stack], context)[stack_id]
        messages = (*messages, *end.outgoing_messages)
        return ProgressResult(stack, messages, end.next_read_at)
    return ProgressResult(stack, messages)


def dispatch_project(
    tx: Transaction, project_id: str, context: TraversalContext
) -> ProgressResult:
    """Post jobs of a project that have been SCHEDULABLE for long, if it has room."""
    return ProgressResult(None, dispatch.dispatch_round_robin(tx, project_id, "", context))
