"""What the observer does with what it has seen, in one transaction.

Marks resources ready, finds and posts the next leaves, makes replacements,
passes on failures and ends the traversal.  Called by ``run_observer``; everything
happens under the stack's lock, so that of two resources that together free a
third one never both miss it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from heat_convergence.convergence.lifecycle import (
    breakpoints,
    completion,
    dispatch,
    nested_status,
    parent_notification,
    replacement,
    retries,
)
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.retries import Observation
from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class ProgressResult:
    """What to cast after the commit, and what became of the stack.

    ``rollback_reason`` is the reason why a rollback has to begin in the same transaction,
    ``next_poll_at`` when the first of what was passed over is due again.
    """

    stack: Stack | None
    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    next_poll_at: datetime | None = None
    rollback_reason: str | None = None

    @property
    def own_job_ids(self) -> tuple[str, ...]:
        """The stack's own jobs among those to cast."""
        return (
            () if self.stack is None else dispatch.own_job_ids(self.outgoing_messages, self.stack)
        )


def process_observations(
    tx: Transaction,
    stack_id: str,
    resource_ids: Sequence[str],
    observations: Mapping[str, Observation],
    context: TraversalContext,
) -> ProgressResult:
    """Takes note of ``resource_ids``.

    ``observations`` has those that were looked at just now; the others stand as the
    engine recorded them.  Rows whose job is void or done are passed over, and so is
    what was seen of a job that has given way to another one meanwhile.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or stack.deleted_at is not None:
        return ProgressResult(None)
    found = tx.resources.lock(resource_ids)
    told = nested_status.refresh_attributes(
        tx, stack, [row for row in found if row.job is None], context
    )
    rows = [row for row in found if _concerns(row, stack)]
    observations = _still_true(rows, observations)
    observations = {
        **observations,
        **nested_status.observe_nested_stacks(tx, rows, observations, context),
    }
    sorted_out = _SortedOut(rows, observations)
    sorted_out.later += _wait_on(tx, sorted_out.waiting, observations, context)
    _pause(tx, sorted_out.paused, observations, context)
    _learn(tx, rows, observations)
    _wake(tx, sorted_out.woken, context)
    sorted_out.again += sorted_out.woken
    if not stack.in_progress:
        _settle(tx, sorted_out.done, context)
        return ProgressResult(stack, told)
    retries.schedule_retries(
        tx, stack, sorted_out.failed, sorted_out.replaced, observations, context
    )
    failed = _fail(tx, stack, sorted_out.failed, observations, context)
    broken = [row.id for row in sorted_out.replaced if retries.has_failed(row, observations)]
    replacement.replace_resources(tx, stack, sorted_out.replaced, broken, context)
    held = breakpoints.pause_after_jobs(tx, stack, sorted_out.done, context.now, context.ids)
    sorted_out.done = [row for row in sorted_out.done if row.id not in held]
    _settle(tx, sorted_out.done, context)
    leaves = _free(tx, stack, sorted_out.done, context)
    advanced = _go_on(tx, stack, sorted_out, leaves, failed, context)
    return replace(advanced, outgoing_messages=(*told, *advanced.outgoing_messages))


def _still_true(
    rows: Sequence[Resource], observations: Mapping[str, Observation]
) -> dict[str, Observation]:
    jobs = {row.id: retries.job_key(row) for row in rows}
    return {key: seen for key, seen in observations.items() if jobs.get(key) == seen.job}


def _concerns(row: Resource, stack: Stack) -> bool:
    return row.job is not None and row.version == stack.version and row.stack_id == stack.id


class _SortedOut:
    """Rows by what is to be done with them."""

    def __init__(self, rows: Sequence[Resource], observations: Mapping[str, Observation]) -> None:
        self.done: list[Resource] = []
        self.failed: list[Resource] = []
        self.replaced: list[Resource] = []
        self.again: list[Resource] = []
        self.woken: list[Resource] = []
        self.waiting: list[Resource] = []
        self.paused: list[Resource] = []
        self.later: list[datetime] = []
        for row in rows:
            seen = observations[row.id].observed if row.id in observations else row.observed
            if row.job_state is JobState.REPLACE:
                self.replaced.append(row)
            elif row.id in observations and observations[row.id].has_next_step:
                self._further(row, observations[row.id].recheck_after_s)
            elif row.job_state is JobState.RETRY:
                self._retry(row, due=row.id in observations)
            elif row.job_state is not JobState.AWAITING_OBSERVATION or not _looked_for(row):
                continue
            elif seen is _end_of(row):
                (self.woken if row.resuming else self.done).append(row)
            elif seen in (ObservedState.FAILED, ObservedState.ABSENT, ObservedState.SKIPPED):
                self.failed.append(row)
            elif row.id in observations:
                self.waiting.append(row)
            elif row.observe_at is not None:
                self.later.append(row.observe_at)

    def _further(self, row: Resource, pause_s: float | None) -> None:
        """Its job has another step to take, at once or after a pause."""
        if pause_s:
            self.paused.append(row)
        else:
            self.again.append(row)

    def _retry(self, row: Resource, *, due: bool) -> None:
        if due:
            self.again.append(row)
        elif row.observe_at is not None:
            self.later.append(row.observe_at)


def _looked_for(row: Resource) -> bool:
    return row.observe_at is not None or row.awaits_nested_stack


def _end_of(row: Resource) -> ObservedState:
    return ObservedState.READY if row.desired is DesiredState.PRESENT else ObservedState.ABSENT


def _wait_on(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Mapping[str, Observation],
    means: TraversalContext,
) -> list[datetime]:
    """The times when they are due again."""
    again_at = {row.id: _again_at(row, observations[row.id], means) for row in rows}
    tx.resources.update_each(
        {
            row.id: {
                "observed": observations[row.id].observed,
                "observed_at": means.now,
                "observe_at": again_at[row.id],
            }
            for row in rows
        }
    )
    return [at for at in again_at.values() if at is not None]


def _again_at(row: Resource, seen: Observation, means: TraversalContext) -> datetime | None:
    """Whoever looks pushes the time on first; if it has come all the same, a signal
    came during the look, and the look may not have seen what it changed.  Stacks
    behind resources are looked at under the rows' locks."""
    if seen.recheck_after_s is None:
        return None
    if row.observe_at is not None and row.observe_at <= means.now:
        return row.observe_at
    return _next_look(seen, means)


def _pause(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Mapping[str, Observation],
    means: TraversalContext,
) -> None:
    tx.resources.update_each(
        {
            row.id: {
                "job_state": JobState.RETRY,
                "observed": None,
                "observe_at": _next_look(observations[row.id], means),
            }
            for row in rows
        }
    )


def _next_look(seen: Observation, means: TraversalContext) -> datetime | None:
    return (
        None
        if seen.recheck_after_s is None
        else means.now + timedelta(seconds=seen.recheck_after_s)
    )


def _learn(
    tx: Transaction, rows: Sequence[Resource], observations: Mapping[str, Observation]
) -> None:
    """Attributes and data that came with the look, before anyone draws on them."""
    for column in ("attributes", "data"):
        found = ((row, getattr(observations.get(row.id), column, None)) for row in rows)
        tx.resources.update_each(
            {
                row.id: {column: new, "sensitive": row.sensitive}
                for row, new in found
                if new is not None
            }
        )


def _wake(tx: Transaction, rows: Sequence[Resource], means: TraversalContext) -> None:
    """What was suspended is not any more; its job goes on with the rest."""
    tx.resources.update([row.id for row in rows], suspended=False)
    tx.events.insert(
        [
            completion.resource_event(
                row, row.action, Status.COMPLETE, row.status_reason, means.now, means.ids
            )
            for row in rows
        ]
    )


def _settle(tx: Transaction, rows: Sequence[Resource], means: TraversalContext) -> None:
    if not rows:
        return
    tx.jobs.mark_complete([row.id for row in rows], means.now)
    # What a user has called ill meanwhile stays so, and the next goal replaces it.
    ill = [row.id for row in rows if completion.marked_unhealthy(row)]
    tx.resources.update(ill, status=Status.FAILED)
    tx.events.insert(
        [
            completion.resource_event(
                row, row.action, Status.COMPLETE, row.status_reason, means.now, means.ids
            )
            for row in rows
            if row.status is not Status.COMPLETE and row.id not in ill
        ]
    )


def _fail(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    observations: Mapping[str, Observation],
    means: TraversalContext,
) -> str | None:
    """Marks the rows FAILED; the stack's cause if it now has its first."""
    if not rows:
        return stack.first_failure_reason
    cause, changes, events = stack.first_failure_reason, {}, []
    for row in rows:
        seen = observations.get(row.id)
        reason = told = seen.reason if seen is not None else row.status_reason
        status, action = Status.FAILED, row.action
        if seen is None and row.observed is ObservedState.SKIPPED:
            # Nothing was done, and the resource is what it was.
            status, action, told = row.status, Action.UPDATE, reason.rsplit(": ", 1)[-1]
        changes[row.id] = {
            "status": status,
            "status_reason": told,
            "job_state": JobState.CANCELLED,
            "observe_at": None,
        }
        events.append(
            completion.resource_event(row, action, Status.FAILED, told, means.now, means.ids)
        )
        cause = cause or f"Resource {action} failed: {reason}"
    tx.resources.update_each(changes)
    tx.events.insert(events)
    return cause


def _free(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], means: TraversalContext
) -> list[str]:
    """Marks ready; the BLOCKED jobs that nothing holds up any more.

    A freed resource that would run only because of what it draws on, of which
    nothing was touched, is ready without a job; so its own dependents are next.
    """
    leaves: list[str] = []
    done = [row.id for row in rows]
    stepping = any(SINGLE_STEP in row.hooks_and_restrictions for row in rows)
    while done:
        tx.readiness.mark_ready(stack.version, done)
        freed = tx.readiness.find_unblocked_by(stack.version, done)
        idle_maybe = [row.id for row in freed if not row.must_run]
        touched = (
            tx.readiness.find_with_touched_requirements(stack.version, idle_maybe)
            if idle_maybe
            else frozenset()
        )
        ready = [row for row in freed if row.must_run or row.id in touched]
        held = breakpoints.pause_before_jobs(
            tx, stack, ready, means.now, means.ids, single_step=stepping
        )
        leaves.extend(row.id for row in ready if row.id not in held)
        done = [row_id for row_id in idle_maybe if row_id not in touched]
        if done:
            tx.jobs.mark_complete(done, means.now)
    return leaves


def _go_on(
    tx: Transaction,
    stack: Stack,
    rows: _SortedOut,
    leaves: Sequence[str],
    cause: str | None,
    means: TraversalContext,
) -> ProgressResult:
    # What is to be tried again has its room among the jobs in flight already.
    again = [row.id for row in rows.again]
    tx.resources.update(
        again, job_state=JobState.SCHEDULABLE, posted_at=means.now, observed=None, observe_at=None
    )
    if cause is not None:
        later = min(rows.later, default=None)
        return replace(_stop(tx, stack, cause, means), next_poll_at=later)
    if rows.done or rows.replaced:
        outgoing_messages = dispatch.schedule_leaves(tx, stack, leaves, means.settings, means.now)
    else:
        outgoing_messages = _take_turns(tx, stack, means)
    advanced = ProgressResult(stack, outgoing_messages, min(rows.later, default=None))
    at_rest = rows.done and not leaves and not advanced.own_job_ids
    if at_rest and not tx.readiness.has_unready(stack.id, stack.version):
        told = completion.complete_traversal(tx, stack, means.now, means.ids)
        return replace(advanced, outgoing_messages=(*outgoing_messages, *told))
    return advanced


def _stop(tx: Transaction, stack: Stack, cause: str, means: TraversalContext) -> ProgressResult:
    """After a failure nothing new starts, what runs may finish; then the stack is
    FAILED with the first cause, or rolls back."""
    first = stack.first_failure_reason is None
    if first and completion.should_roll_back(stack):
        return ProgressResult(stack, rollback_reason=cause)
    if completion.cancel_unstarted_jobs(tx, stack, means.now, means.ids) == 0:
        return ProgressResult(
            stack, completion.fail_traversal(tx, stack, cause, means.now, means.ids)
        )
    if first:
        limit = means.now + timedelta(seconds=means.settings.error_wait_s)
        deadline = min(stack.deadline_at or limit, limit)
        tx.stacks.update(stack.id, first_failure_reason=cause, deadline_at=deadline)
    return ProgressResult(stack, _take_turns(tx, stack, means))


def _take_turns(
    tx: Transaction, stack: Stack, means: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    return dispatch.dispatch_round_robin(
        tx, stack.project_id, stack.tree_id, means.settings, means.now
    )


def handle_timeout(tx: Transaction, stack_id: str, context: TraversalContext) -> ProgressResult:
    """The stack's deadline has passed: it fails, or rolls back."""
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
        return ProgressResult(stack, rollback_reason="Timed out")
    reason = stack.first_failure_reason or "Timed out"
    return ProgressResult(
        stack, completion.fail_traversal(tx, stack, reason, context.now, context.ids)
    )


def cancel_nested_stack(
    tx: Transaction, stack_id: str, context: TraversalContext
) -> ProgressResult:
    """For a nested stack whose owner does not wait for it any more: it stops."""
    stack = tx.stacks.lock(stack_id)
    if stack is None or not stack.in_progress or stack.owner_resource_id is None:
        return ProgressResult(None)
    rows = tx.resources.get([stack.owner_resource_id])
    if not any(
        parent_notification.is_nested_stack_cancelled(row) and row.physical_id == stack.id
        for row in rows
    ):
        return ProgressResult(None)
    reason = f"Stack {stack.action} cancelled"
    return ProgressResult(
        stack, completion.fail_traversal(tx, stack, reason, context.now, context.ids)
    )


def resume_stalled(
    tx: Transaction, stack_id: str, version: int, context: TraversalContext
) -> ProgressResult:
    """For a stack in which nothing is in flight: finds what can go on.

    Finds nothing unless rows contradict each other; then it says so by the jobs
    that it posts, or ends the traversal.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or not stack.in_progress or stack.version != version:
        return ProgressResult(None)
    if stack.first_failure_reason is not None:
        return _stop(tx, stack, stack.first_failure_reason, context)
    found = tx.readiness.find_wrongly_blocked(stack_id, version)
    held = breakpoints.pause_before_jobs(
        tx, stack, tx.resources.lock(found), context.now, context.ids
    )
    leaves = [row_id for row_id in found if row_id not in held]
    outgoing_messages = dispatch.schedule_leaves(tx, stack, leaves, context.settings, context.now)
    told: tuple[OutgoingMessage, ...] = ()
    if not leaves and not tx.readiness.has_unready(stack_id, version):
        told = completion.complete_traversal(tx, stack, context.now, context.ids)
    return ProgressResult(stack, (*outgoing_messages, *told))


def dispatch_next(tx: Transaction, project_id: str, context: TraversalContext) -> ProgressResult:
    """For a project whose jobs are DUE for long: its next ones, if it has room."""
    return ProgressResult(
        None, dispatch.dispatch_round_robin(tx, project_id, "", context.settings, context.now)
    )
