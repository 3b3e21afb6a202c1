"""The progress of a traversal after observations, in one transaction.

Marks resources ready, dispatches the next leaves, replaces resources, records failures
and ends the traversal.  Called by ``observer``; everything happens under the stack's
lock, so that of two resources that together unblock a third one never both miss it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from heat_convergence.convergence.lifecycle import (
    breakpoints,
    completion,
    dispatch,
    nested_status,
    replacement,
    retries,
)
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.observations import (
    ClassifiedRows,
    Observation,
    Observations,
    classify_rows,
    job_key,
    with_observation_mark,
)
from heat_convergence.convergence.lifecycle.quarantine import failed_deletions
from heat_convergence.convergence.lifecycle.readiness.early_release import release_dependents
from heat_convergence.convergence.lifecycle.readiness.pending_jobs import record_pending
from heat_convergence.convergence.lifecycle.stabilization import window
from heat_convergence.convergence.lifecycle.stabilization.window import WindowResult
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import has_nested_stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark


@dataclass(frozen=True, slots=True)
class ProgressResult:
    """The result of a step: messages to send after the commit, and what follows.

    Attributes:
        stack: the stack, None if there is none any more.
        next_poll_at: when the first of the rows that were passed over is due again.
        rollback_reason: why a rollback has to start in the same transaction.
        waits_for_bus: whether none of its leaves was posted because the bus had no room, and no
            other job of the stack is under way.
    """

    stack: Stack | None
    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    next_poll_at: datetime | None = None
    rollback_reason: str | None = None
    waits_for_bus: bool = False

    @property
    def own_job_ids(self) -> tuple[str, ...]:
        """The stack's own jobs among those of the messages."""
        return (
            () if self.stack is None else dispatch.own_job_ids(self.outgoing_messages, self.stack)
        )


def process_observations(
    tx: Transaction,
    stack_id: str,
    resource_ids: Sequence[str],
    observations: Observations,
    context: TraversalContext,
) -> ProgressResult:
    """Record the state of resources and let the traversal go on.

    Rows whose job is void or done are passed over, and so are observations of a job that
    another one has superseded meanwhile.

    Args:
        tx: the transaction.
        stack_id: the stack.
        resource_ids: the resources; those without an observation are as an engine has
            recorded them. They come from a message, so those of other stacks are ignored.
        observations: the resources that were just observed.
        context: the time, the ids and the settings.
    """
    stack, locked = tx.stacks.lock_with_resources(stack_id, resource_ids)
    if stack is None or stack.deleted_at is not None:
        return ProgressResult(None)
    at_rest = [row for row in locked if row.job.verb is None]
    watched, idle = window.split_watched(stack, at_rest)
    messages = nested_status.refresh_attributes(tx, stack, idle, context)
    if window.is_open(stack):
        ended = _advance_window(tx, stack, watched, observations, context)
        return replace(ended, outgoing_messages=(*messages, *ended.outgoing_messages))
    current = [row for row in locked if _is_current(row, stack)]
    observations = _drop_superseded(current, observations)
    nested = nested_status.observe_nested_stacks(tx, current, observations, context)
    observations = {**observations, **nested}
    rows = classify_rows(current, observations)
    rows = record_pending(tx, rows, observations, context)
    nested_status.save_values(tx, current, observations)
    _record_resumed(tx, rows.resumed, context)
    if not stack.in_progress:
        _settle(tx, rows.done, observations, context)
        return ProgressResult(stack, messages)
    result = _advance(tx, stack, rows, observations, context)
    return replace(result, outgoing_messages=(*messages, *result.outgoing_messages))


def _is_current(row: Resource, stack: Stack) -> bool:
    return row.job.verb is not None and row.job.version == stack.version


def _drop_superseded(
    rows: Sequence[Resource], observations: Observations
) -> dict[str, Observation]:
    jobs = {row.id: job_key(row) for row in rows}
    return {
        row_id: observation
        for row_id, observation in observations.items()
        if jobs.get(row_id) == observation.job
    }


def _record_resumed(tx: Transaction, rows: Sequence[Resource], context: TraversalContext) -> None:
    """Record that suspended resources were resumed; their jobs have another step."""
    tx.resources.update([row.id for row in rows], suspended=False)
    tx.events.insert(
        [
            context.resource_event(row, row.state.action, Status.COMPLETE, row.state.reason)
            for row in rows
        ]
    )


def _advance(
    tx: Transaction,
    stack: Stack,
    rows: ClassifiedRows,
    observations: Observations,
    context: TraversalContext,
) -> ProgressResult:
    """Let a traversal in progress go on after its rows were classified."""
    rows = retries.schedule_retries(tx, stack, rows, observations, context)
    rows, observations = failed_deletions.fail_unfinished_nested(tx, stack, rows, observations)
    cause = _fail(tx, stack, rows.failed, observations, context)
    quarantined = failed_deletions.quarantine_failed(tx, stack, rows.failed, observations, context)
    if quarantined:
        cause = stack.first_failure_reason
    failures = retries.failure_reasons(rows.replaced, observations)
    replacement.replace_resources(tx, stack, rows.replaced, failures, context)
    if rows.replaced:
        # After a failure of the stack, no successor is created any more.
        cause = cause or stack.first_failure_reason
    held = breakpoints.pause_after_jobs(tx, stack, rows.done, context)
    done = tuple(row for row in rows.done if row.id not in held)
    _settle(tx, done, observations, context)
    early = release_dependents(tx, stack, (*rows.waiting, *rows.later), observations)
    leaves = _unblock(tx, stack, done, context, early)
    # A job that is posted again has its place in flight already.
    repeated = [row.id for row in (*rows.repeated, *rows.resumed)]
    tx.jobs.apply(repeated, job_transitions.reschedule(context.now))
    next_poll_at = min(rows.poll_times, default=None)
    if cause is not None and stack.action is not Action.CHECK:
        return replace(stop_after_failure(tx, stack, cause, context), next_poll_at=next_poll_at)
    load = None
    if done or rows.replaced or rows.failed or leaves:
        load = tx.jobs.get_workload(stack.project_id, stack.id)
        messages = dispatch.schedule_leaves(tx, stack, list(leaves), context, leaves, load)
    else:
        messages = dispatch.dispatch_next(tx, stack, context)
    result = ProgressResult(stack, messages, next_poll_at)
    if leaves and load is not None and load.in_flight == 0 and not result.own_job_ids:
        result = replace(result, waits_for_bus=True)
    if cause is not None:
        ended = _record_failed_check(tx, stack, cause, context)
        return replace(result, outgoing_messages=(*messages, *ended))
    # The resource of a job under way is not ready: that need not be read.
    is_busy = load is not None and load.is_stack_busy
    at_rest = (done or quarantined) and not (leaves or is_busy or result.own_job_ids)
    if at_rest and not tx.readiness.has_unready(stack.id, stack.version):
        return _with_end(result, window.complete_when_stable(tx, stack, context))
    return result


def _with_end(result: ProgressResult, end: WindowResult) -> ProgressResult:
    """Return the result with the messages of a traversal's end, or the start of its window."""
    times = [at for at in (result.next_poll_at, end.next_read_at) if at is not None]
    return replace(
        result,
        outgoing_messages=(*result.outgoing_messages, *end.outgoing_messages),
        next_poll_at=min(times, default=None),
    )


def _advance_window(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> ProgressResult:
    """Go on with a stabilization window after reads of resources; fail as after any failure."""
    observations = _drop_superseded(rows, observations)
    end = window.record_reads(tx, stack, rows, observations, context)
    if end.failure is not None:
        return stop_after_failure(tx, stack, end.failure, context)
    return _with_end(ProgressResult(stack), end)


def _record_failed_check(
    tx: Transaction, stack: Stack, cause: str, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Fail a check when all is checked that does not depend on a failed resource."""
    load = tx.jobs.get_workload(stack.project_id, stack.id)
    if not load.is_stack_busy:
        return completion.fail_traversal(tx, stack, cause, context)
    if stack.first_failure_reason is None:
        tx.stacks.update(stack.id, first_failure_reason=cause)
    return ()


def _settle(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> None:
    """Mark resources complete whose jobs are done."""
    if not rows:
        return
    tx.jobs.mark_complete([row.id for row in rows], context.now)
    # A resource that a user has marked unhealthy meanwhile is replaced by the next goal.
    unhealthy = [row.id for row in rows if completion.is_marked_unhealthy(row)]
    tx.resources.update(unhealthy, status=Status.FAILED)
    tx.events.insert(
        [
            context.resource_event(
                with_observation_mark(row, observations.get(row.id)),
                row.state.action,
                Status.COMPLETE,
                row.state.reason,
            )
            for row in rows
            if row.state.status is not Status.COMPLETE and row.id not in unhealthy
        ]
    )


def _fail(
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


def _unblock(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    context: TraversalContext,
    early: Sequence[Resource] = (),
) -> dict[str, str]:
    """Mark resources ready; return the jobs that nothing stands before any more.

    An unblocked resource that would run only because of values that it reads, of which
    none has changed, is ready without a job; so its own dependents are next.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: the resources that are done.
        context: the time, the ids and the settings.
        early: resources under way whose edges are marked already.

    Returns:
        Id of the resource → the mark of what has unblocked it.
    """
    leaves: dict[str, str] = {}
    ready_ids, early_ids = [row.id for row in rows], [row.id for row in early]
    every = (*rows, *early)
    single_step = any(SINGLE_STEP in row.desired.hooks_and_restrictions for row in every)
    while ready_ids or early_ids:
        tx.readiness.mark_ready(stack.version, ready_ids)
        found = tx.readiness.find_unblocked_by(stack.version, [*ready_ids, *early_ids])
        early_ids = []
        unblocked = [row for row, _cause in found]
        marks = {
            row.id: format_mark(MarkType.UNBLOCKED, context.now, cause) for row, cause in found
        }
        optional = [row.id for row in unblocked if not row.job.must_run]
        touched = (
            tx.readiness.find_with_touched_requirements(stack.version, optional)
            if optional
            else frozenset()
        )
        running = [row for row in unblocked if row.job.must_run or row.id in touched]
        held = breakpoints.pause_before_jobs(
            tx, stack, running, context, single_step=single_step, own_marks=marks
        )
        leaves.update((row.id, marks[row.id]) for row in running if row.id not in held)
        ready_ids = [row_id for row_id in optional if row_id not in touched]
        if ready_ids:
            tx.jobs.mark_complete(ready_ids, context.now)
    return leaves


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
