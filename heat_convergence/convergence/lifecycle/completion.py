"""The end of a traversal: complete, failed, or with the stack deleted.

Called under the stack's lock by ``traversal``, ``progress`` and ``sweeps``.  Must not
send anything: messages are returned.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested import parent_notification
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.readiness import window_reads
from heat_convergence.convergence.lifecycle.snapshots import snapshot_completion
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import IN_FLIGHT, DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.stacks import StackColumns
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline import marks

INTERRUPTED_AT_HOOK = "Failure occurred while waiting."
CHECK_UNSUPPORTED_PREFIX = "CHECK not supported for "  # and the type, in a resource's reason
_GOAL_ACTIONS = frozenset(
    {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.ADOPT, Action.RESTORE}
)
_BETWEEN_TRIES = frozenset({JobState.RETRY, JobState.SCHEDULABLE, JobState.POSTED})
TIMED_OUT = "Timed out"
_CAN_ROLL_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT})


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a traversal.

    Attributes:
        stack: the stack as it is stored.
        ended: the stack with its final status and reason.
        values: further columns of the stack.
    """

    stack: Stack
    ended: Stack
    values: StackColumns = field(default_factory=StackColumns)

    @property
    def reaches_goal(self) -> bool:
        """True if the stack is as its goal has it."""
        return "complete_goal_id" in self.values


def complete_traversal(
    tx: Transaction, stack: Stack, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Complete a traversal in whose graph no row is unready (RULE 7)."""
    return complete_traversals(tx, [stack], context)[stack.id]


def complete_traversals(
    tx: Transaction, stacks: Sequence[Stack], context: TraversalContext
) -> dict[str, tuple[OutgoingMessage, ...]]:
    """Complete traversals in whose graphs no row is unready; return the messages by stack."""
    deleted = [stack for stack in stacks if stack.action is Action.DELETE]
    notes = _delete_contents(tx, deleted, context)
    tx.resources.delete_absent([stack.id for stack in stacks if stack.action is not Action.DELETE])
    ends = [_complete(tx, stack, notes.get(stack.id, ""), context) for stack in stacks]
    # The first goal of a stack has no goal before it.
    changed = [end.stack for end in ends if end.reaches_goal and end.stack.version > 1]
    with_old_goals = [*deleted, *changed]
    tx.goals.delete_except(
        [stack.id for stack in with_old_goals], [stack.goal_id for stack in with_old_goals]
    )
    return _record_ends(tx, ends, context)


def _complete(tx: Transaction, stack: Stack, note: str, context: TraversalContext) -> _End:
    """Return the end of a complete stack, with a note in its reason."""
    reason = f"Stack {stack.action} completed successfully{note}"
    reason += _unsupported_check_note(tx, stack)
    values: StackColumns = {}
    if stack.action is Action.DELETE:
        values["deleted_at"] = context.now
    if stack.action in _GOAL_ACTIONS and not _rolled_back_to_nothing(stack):
        values["complete_goal_id"] = stack.goal_id
    completed = replace(stack, status=Status.COMPLETE, status_reason=reason)
    return _End(stack, completed, values)


def _delete_contents(
    tx: Transaction, stacks: Sequence[Stack], context: TraversalContext
) -> dict[str, str]:
    """Delete the rows of deleted stacks, apart from those in quarantine.

    Returns:
        What the reasons say of those that are left (RULE 7), by stack.
    """
    ids = [stack.id for stack in stacks]
    kept = {stack.id: tx.quarantine.list_ids(stack.id) for stack in stacks if stack.quarantines}
    tx.resources.delete_by_stacks(ids, [row_id for of in kept.values() for row_id in of])
    tx.snapshots.schedule_deletion(ids, context.now)
    pause = timedelta(seconds=context.settings.quarantine.pause_after(0))
    notes = {}
    for stack_id, row_ids in kept.items():
        if row_ids:
            tx.quarantine.activate(stack_id, context.now + pause)
            notes[stack_id] = f"; resources in quarantine: {len(row_ids)}"
    return notes


def _unsupported_check_note(tx: Transaction, stack: Stack) -> str:
    """Return what the reason of a check says when some resources could not be checked."""
    if stack.action is Action.CHECK and tx.resources.any_status_reason_startswith(
        stack.id, Action.CHECK, CHECK_UNSUPPORTED_PREFIX
    ):
        return ". 'CHECK' not fully supported (see resources)"
    return ""


def should_roll_back(stack: Stack) -> bool:
    """Return whether a failure of this traversal leads to a rollback."""
    return not stack.disable_rollback and stack.action in _CAN_ROLL_BACK


def _rolled_back_to_nothing(stack: Stack) -> bool:
    """Return whether a create was rolled back: its goal was never reached."""
    return stack.action is Action.ROLLBACK and stack.complete_goal_id is None


def fail_traversal(
    tx: Transaction, stack: Stack, reason: str, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Fail a traversal and cancel what it still had under way."""
    messages = cancel_jobs(tx, stack, context, TIMED_OUT if reason == TIMED_OUT else "")
    reason += _unsupported_check_note(tx, stack)
    failed = replace(stack, status=Status.FAILED, status_reason=reason)
    return (*messages, *_record_ends(tx, [_End(stack, failed)], context)[stack.id])


def fail_ancestor_snapshots(
    tx: Transaction, stack: Stack, action: Action, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Fail the snapshots that ancestors take when a user acts on their nested stack.

    The failed snapshots keep what was saved of the nested stack.  The stack is locked;
    its ancestors are from here on, as none of them may save the stacks between meanwhile.
    """
    if not snapshot_completion.get_ancestors_taking_snapshot(tx, stack):
        return ()
    locked = [tx.stacks.lock(row.stack_id) for row in tx.tree.list_ancestor_resources(stack.id)]
    # An ancestor that waits for the stack, or for one between, does not cancel it.
    awaiting = [
        row.id for row in tx.tree.list_ancestor_resources(stack.id) if row.awaits_nested_stack
    ]
    tx.jobs.apply(awaiting, job_transitions.forget_nested_stack())
    reason = f"{snapshot_completion.SUPERSEDED_PREFIX}{action} of nested stack {stack.name}"
    return tuple(
        message
        for ancestor in locked
        if ancestor is not None and snapshot_completion.is_taking_snapshot(ancestor)
        for message in fail_traversal(tx, ancestor, reason, context)
    )


def cancel_jobs(
    tx: Transaction, stack: Stack, context: TraversalContext, cause: str = ""
) -> tuple[OutgoingMessage, ...]:
    """Cancel all jobs of a stack, and the nested stacks that it waits for.

    A call that is being made ends by itself and leaves its result to the next traversal.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        context: the time and the ids.
        cause: what the reasons of the resources say beside that they were aborted.
    """
    rows = tx.jobs.lock_by_stack(stack.id)
    _insert_interrupted_events(tx, rows, context)
    messages = parent_notification.cancel_waiting(tx, rows)
    tx.jobs.apply(
        [row.id for row in rows if not row.awaits_nested_stack], job_transitions.cancel()
    )
    by_action: dict[Action, list[Resource]] = {}
    for row in rows:
        if row.state.status is Status.IN_PROGRESS:
            by_action.setdefault(row.state.action, []).append(row)
    for action, members in sorted(by_action.items()):
        reason = f"{action} aborted ({cause})" if cause else f"{action} aborted"
        tx.resources.update(
            [row.id for row in members], status=Status.FAILED, status_reason=reason
        )
        tx.events.insert(
            [context.resource_event(row, action, Status.FAILED, reason) for row in members]
        )
    return messages


def cancel_unstarted_jobs(
    tx: Transaction,
    stack: Stack,
    context: TraversalContext,
    unstarted: Collection[str] = (),
) -> int:
    """Cancel the jobs that have not started.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        context: the time and the ids.
        unstarted: ids of rows whose workers have not begun anything that lasts.

    Returns:
        The number of jobs that go on.
    """
    rows = tx.jobs.lock_by_stack(stack.id)
    _insert_interrupted_events(tx, rows, context)
    going_on = {row.id for row in rows if row.job.state in IN_FLIGHT and _has_started(row)}
    going_on.difference_update(unstarted)
    # A job that waits for another try is under way, too: its pause must not be its end.
    waiting = [row.id for row in rows if row.job.state in _BETWEEN_TRIES]
    tries = tx.graph.get_retry_counts(stack.version, waiting) if waiting else {}
    going_on |= {row_id for row_id, count in tries.items() if count > 0}
    # A new resource that failed is deleted after a pause.
    going_on |= {
        row.id
        for row in rows
        if row.job.state is JobState.RETRY and row.desired.state is DesiredState.ABSENT
    }
    tx.jobs.apply(
        [row.id for row in rows if row.id not in going_on], job_transitions.cancel_unstarted()
    )
    return len(going_on)


def _insert_interrupted_events(
    tx: Transaction, rows: Sequence[Resource], context: TraversalContext
) -> None:
    """Insert events of the rows that wait at a breakpoint and will not go on."""
    tx.events.insert(
        [
            context.resource_event(row, row.state.action, Status.FAILED, INTERRUPTED_AT_HOOK)
            for row in rows
            if row.job.state is JobState.AT_BREAKPOINT
        ]
    )


def _has_started(row: Resource) -> bool:
    leased = row.lease.token is not None
    awaiting = row.job.state is JobState.AWAITING_OBSERVATION
    return (
        leased or (awaiting and row.observation.observe_at is not None) or row.awaits_nested_stack
    )


def is_marked_unhealthy(row: Resource) -> bool:
    """Return whether a user has marked a resource with a job unhealthy.

    From its claim on, a job shows its own action, IN_PROGRESS.
    """
    return row.state.action is Action.CHECK and row.state.status is Status.FAILED


def _record_ends(
    tx: Transaction, ends: Sequence[_End], context: TraversalContext
) -> dict[str, tuple[OutgoingMessage, ...]]:
    """Write the ends of traversals; return the messages by stack."""
    for end in ends:
        ended = end.ended
        snapshot_completion.record_snapshot_end(tx, end.stack, ended.status, ended.status_reason)
        if end.stack.stabilizing:
            window_reads.cancel_reads(tx, tx.resources.lock_by_stack(ended.id))
    tx.stacks.update_each({end.ended.id: _columns_of(end) for end in ends})
    tx.events.insert([_end_event(end, context) for end in ends])
    return parent_notification.notify_parents(tx, [end.ended for end in ends], context.now)


def _columns_of(end: _End) -> StackColumns:
    return {
        "status": end.ended.status,
        "status_reason": end.ended.status_reason,
        "deadline_at": None,
        "first_failure_reason": None,
        "stabilizing": False,
        "stable_since": None,
        **end.values,
    }


def _end_event(end: _End, context: TraversalContext) -> Event:
    event = context.stack_event(end.ended, end.ended.status, end.ended.status_reason)
    timeline = marks.for_stack_event(context.now, had_window=end.stack.stabilizing)
    return replace(event, timeline=timeline)
