"""Breakpoints: where users have a traversal stop, and how it goes on.

A row that waits is AT_BREAKPOINT under the name of its hook; nothing is in memory, so a
crash changes nothing, and a new traversal, a failure or a cancel treat the row as any
other job that has not started.  Called by ``traversal`` and ``progress`` for jobs that
may start or are done, and by the API to clear a hook, always under the stack's lock.

Source: docs/reference/events-and-states.rst, "Hooks".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import breakpoint_reasons, dispatch
from heat_convergence.convergence.lifecycle.completion import is_marked_unhealthy
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import goal_state
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, Recipient
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.model.stack import BreakpointLocation, Stack
from heat_convergence.convergence.ports.store import Transaction

_ACTION_NAMES = {Action.CREATE: "create", Action.UPDATE: "update", Action.DELETE: "delete"}
HeldRow = tuple[Resource, str]  # the row and its hook


def pre_hook_of(stack: Stack, row: Resource) -> str | None:
    """Return the hook at which the traversal would stop before the row's job."""
    if stack.action not in _ACTION_NAMES or row.job.verb is not Verb.CONVERGE:
        return None
    new = row.state.action is Action.INIT
    concerned = {
        Action.CREATE: row.desired.state is DesiredState.PRESENT and new,
        Action.UPDATE: row.desired.state is DesiredState.PRESENT and not new,
        Action.DELETE: row.desired.state is DesiredState.ABSENT,
    }
    return f"pre-{_ACTION_NAMES[stack.action]}" if concerned[stack.action] else None


def post_hook_of(stack: Stack, row: Resource) -> str | None:
    """Return the hook at which the traversal would stop when the row's job is done."""
    if stack.action not in _ACTION_NAMES or row.job.verb is not Verb.CONVERGE:
        return None
    new = stack.started_at is not None and row.identity.created_at >= stack.started_at
    concerned = {
        Action.CREATE: row.desired.state is DesiredState.PRESENT,
        Action.UPDATE: row.desired.state is DesiredState.PRESENT and not new,
        Action.DELETE: row.desired.state is DesiredState.ABSENT,
    }
    return f"post-{_ACTION_NAMES[stack.action]}" if concerned[stack.action] else None


def pause_before_jobs(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    context: TraversalContext,
    *,
    single_step: bool = False,
    own_marks: Mapping[str, str] | None = None,
) -> frozenset[str]:
    """Hold rows whose jobs may start and that have a hook before them.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: rows whose jobs may start.
        context: the time and the ids.
        single_step: hold all rows that a hook is possible for.
        own_marks: what the timelines of rows say before that, by id.

    Returns:
        The ids of the rows that were held.
    """
    held = []
    for row in rows:
        hook = pre_hook_of(stack, row)
        if hook is None or hook == row.job.hook:
            continue
        if single_step or hook in row.desired.hooks_and_restrictions:
            held.append((row, hook))
    _hold(tx, stack, held, context, own_marks)
    return frozenset(row.id for row, _hook in held)


def pause_after_jobs(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], context: TraversalContext
) -> frozenset[str]:
    """Hold rows whose jobs are done and that have a hook after them; return their ids."""
    held = []
    for row in rows:
        hook = post_hook_of(stack, row)
        if (
            hook is not None
            and hook != row.job.hook
            and hook in row.desired.hooks_and_restrictions
        ):
            held.append((row, hook))
    if not held:
        return frozenset()
    healthy = [row for row, _hook in held if not is_marked_unhealthy(row)]
    tx.resources.update(
        [row.id for row in healthy], status=Status.COMPLETE, updated_at=context.now
    )
    tx.events.insert(
        [
            context.resource_event(row, row.state.action, Status.COMPLETE, row.state.reason)
            for row in healthy
            if row.state.status is not Status.COMPLETE
        ]
    )
    _hold(tx, stack, held, context)
    return frozenset(row.id for row, _hook in held)


def _hold(
    tx: Transaction,
    stack: Stack,
    held: Sequence[HeldRow],
    context: TraversalContext,
    own_marks: Mapping[str, str] | None = None,
) -> None:
    if not held:
        return
    for hook in sorted({hook for _row, hook in held}):
        tx.jobs.apply(
            [row.id for row, row_hook in held if row_hook == hook],
            job_transitions.hold_at_breakpoint(hook, context.now).with_marks(own_marks=own_marks),
        )
    tx.events.insert(
        [
            context.resource_event(
                row,
                row.state.action,
                Status.COMPLETE if hook.startswith("post-") else row.state.status,
                breakpoint_reasons.hook_pause_reason(stack.action, hook),
            )
            for row, hook in held
        ]
    )

    def waiting_reason(action: Action, path: tuple[str, ...]) -> str:
        own = [BreakpointLocation(stack.id, (*path, row.name), hook) for row, hook in held]
        return breakpoint_reasons.breakpoint_reason(action, own)

    _insert_ancestor_events(tx, stack, waiting_reason, context)


def _insert_ancestor_events(
    tx: Transaction,
    stack: Stack,
    reason: Callable[[Action, tuple[str, ...]], str],
    context: TraversalContext,
) -> None:
    """Insert an event in each ancestor that waits for the stack.

    Nothing else is written there: ``tree.find_breakpoint_locations`` finds the row.

    Args:
        tx: the transaction.
        stack: the nested stack.
        reason: the reason for an ancestor's action, of the path from it to the stack.
        context: the time and the ids.
    """
    if stack.owner_id is None:
        return
    path: tuple[str, ...] = ()
    events = []
    for row in tx.tree.list_ancestor_resources(stack.id):
        if row.state.status is not Status.IN_PROGRESS:
            break
        path = (row.name, *path)
        events.append(
            context.resource_event(
                row, row.state.action, row.state.status, reason(row.state.action, path)
            )
        )
    tx.events.insert(events)


@dataclass(frozen=True, slots=True)
class HookToClear:
    """A hook that a user clears.

    Attributes:
        single_step: the jobs that the resource unblocks are held in turn.
    """

    stack_id: str
    resource_id: str
    hook: str
    single_step: bool = False


def clear_hook(
    tx: Transaction, cleared: HookToClear, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Let the job of a row that waits at a breakpoint go on.

    Raises:
        InvalidBreakPointHook: the resource does not wait at that hook.
    """
    stack = tx.stacks.lock(cleared.stack_id)
    hook = cleared.hook
    rows = tx.resources.lock([cleared.resource_id])
    held = [
        row for row in rows if row.job.state is JobState.AT_BREAKPOINT and row.job.hook == hook
    ]
    if stack is None or not stack.in_progress or not held:
        raise errors.InvalidBreakPointHook(f'The hook "{hook}" is not set at the resource.')
    (row,) = held
    reason = f"Hook {hook} is cleared"
    tx.events.insert([context.resource_event(row, row.state.action, row.state.status, reason)])

    def cleared_reason(action: Action, path: tuple[str, ...]) -> str:
        return f"{reason} at {'/'.join((*path, row.name))}"

    _insert_ancestor_events(tx, stack, cleared_reason, context)
    if cleared.single_step:
        tx.resources.update(
            [row.id], hooks_and_restrictions=(*row.desired.hooks_and_restrictions, SINGLE_STEP)
        )
    if hook.startswith("post-"):
        tx.jobs.apply([row.id], job_transitions.release(goal_state(row), context.now))
        return (OutgoingMessage(stack.id, stack.version, (row.id,), Recipient.OBSERVER),)
    return dispatch.schedule_leaves(tx, stack, [row.id], context)
