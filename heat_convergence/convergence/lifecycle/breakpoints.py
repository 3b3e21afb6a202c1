"""Breakpoints: where users want a traversal to stop, and how it goes on.

A row that waits is HELD under its hook's name; nothing is in memory, so a crash
changes nothing, and a new traversal, a failure or a cancel leave it as any other job
that has not begun.  Called by ``traversal`` and ``advance`` for what has become ready,
and by the API to clear a hook, always under the stack's lock.

Source: heat-facts ``events_and_states.md``, "Hooks".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from heat_convergence.common import errors
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle import breakpoint_reasons, dispatch
from heat_convergence.convergence.lifecycle.completion import marked_unhealthy, resource_event
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage, Recipient
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.breakpoint_location import BreakpointLocation
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction

_NAMED = {Action.CREATE: "create", Action.UPDATE: "update", Action.DELETE: "delete"}


def pre_hook_of(stack: Stack, row: Resource) -> str | None:
    """The hook at which this traversal stops before the row's job, set or not."""
    if stack.action not in _NAMED or row.job is not Verb.CONVERGE:
        return None
    new = row.action is Action.INIT
    concerned = {
        Action.CREATE: row.desired is DesiredState.PRESENT and new,
        Action.UPDATE: row.desired is DesiredState.PRESENT and not new,
        Action.DELETE: row.desired is DesiredState.ABSENT,
    }
    return f"pre-{_NAMED[stack.action]}" if concerned[stack.action] else None


def post_hook_of(stack: Stack, row: Resource) -> str | None:
    """The hook at which it stops when the row is as it should be, set or not."""
    if stack.action not in _NAMED or row.job is not Verb.CONVERGE:
        return None
    made_now = stack.started_at is not None and row.created_at >= stack.started_at
    concerned = {
        Action.CREATE: row.desired is DesiredState.PRESENT,
        Action.UPDATE: row.desired is DesiredState.PRESENT and not made_now,
        Action.DELETE: row.desired is DesiredState.ABSENT,
    }
    return f"post-{_NAMED[stack.action]}" if concerned[stack.action] else None


def pause_before_jobs(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    now: datetime,
    ids: IdFactory,
    *,
    single_step: bool = False,
) -> frozenset[str]:
    """Holds those of ``rows``, which may start, that a hook is set at, or all of them;
    their ids."""
    held = []
    for row in rows:
        hook = pre_hook_of(stack, row)
        if (
            hook is not None
            and hook != row.hook
            and (single_step or hook in row.hooks_and_restrictions)
        ):
            held.append((row, hook))
    _hold(tx, stack, held, now, ids)
    return frozenset(row.id for row, _hook in held)


def pause_after_jobs(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], now: datetime, ids: IdFactory
) -> frozenset[str]:
    """Holds those of ``rows``, which are done, that a hook is set at; their ids."""
    held = []
    for row in rows:
        hook = post_hook_of(stack, row)
        if hook is not None and hook != row.hook and hook in row.hooks_and_restrictions:
            held.append((row, hook))
    if not held:
        return frozenset()
    well = [row for row, _hook in held if not marked_unhealthy(row)]
    tx.resources.update([row.id for row in well], status=Status.COMPLETE, updated_at=now)
    tx.events.insert(
        [
            resource_event(row, row.action, Status.COMPLETE, row.status_reason, now, ids)
            for row in well
            if row.status is not Status.COMPLETE
        ]
    )
    _hold(tx, stack, held, now, ids)
    return frozenset(row.id for row, _hook in held)


def _hold(
    tx: Transaction,
    stack: Stack,
    held: Sequence[tuple[Resource, str]],
    now: datetime,
    ids: IdFactory,
) -> None:
    if not held:
        return
    for hook in sorted({hook for _row, hook in held}):
        tx.resources.update(
            [row.id for row, its in held if its == hook],
            job_state=JobState.AT_BREAKPOINT,
            hook=hook,
            posted_at=None,
            observed=None,
            observe_at=None,
        )
    tx.events.insert(
        [
            resource_event(
                row,
                row.action,
                Status.COMPLETE if hook.startswith("post-") else row.status,
                breakpoint_reasons.hook_pause_reason(stack.action, hook),
                now,
                ids,
            )
            for row, hook in held
        ]
    )

    def waits(action: Action, path: tuple[str, ...]) -> str:
        its = [BreakpointLocation(stack.id, (*path, row.name), hook) for row, hook in held]
        return breakpoint_reasons.breakpoint_reason(action, its)

    _tell_above(tx, stack, waits, now, ids)


def _tell_above(
    tx: Transaction,
    stack: Stack,
    reason: Callable[[Action, tuple[str, ...]], str],
    now: datetime,
    ids: IdFactory,
) -> None:
    """Events in the stacks above that wait for this one, each of the resource there,
    with a reason for its action and the path from it down to this stack.  Nothing else
    is told up there: rows tell where a stack waits, see ``Transaction.places``."""
    if stack.owner_id is None:
        return
    path: tuple[str, ...] = ()
    events = []
    for row in tx.tree.list_ancestor_resources(stack.id):
        if row.status is not Status.IN_PROGRESS:
            break
        path = (row.name, *path)
        told = reason(row.action, path)
        events.append(resource_event(row, row.action, row.status, told, now, ids))
    tx.events.insert(events)


def clear_hook(
    tx: Transaction,
    stack_id: str,
    resource_id: str,
    hook: str,
    settings: ConvergenceSettings,
    now: datetime,
    ids: IdFactory,
    *,
    single_step: bool = False,
) -> tuple[OutgoingMessage, ...]:
    """Lets a held row go on; with ``step``, what it lets start is held in turn.

    Raises ``InvalidBreakPointHook`` for a row that does not wait at that hook.
    """
    stack = tx.stacks.lock(stack_id)
    rows = tx.resources.lock([resource_id])
    held = [row for row in rows if row.job_state is JobState.AT_BREAKPOINT and row.hook == hook]
    if stack is None or not stack.in_progress or not held:
        raise errors.InvalidBreakPointHook(f'The hook "{hook}" is not set at the resource.')
    (row,) = held
    reason = f"Hook {hook} is cleared"
    tx.events.insert([resource_event(row, row.action, row.status, reason, now, ids)])

    def cleared(action: Action, path: tuple[str, ...]) -> str:
        return f"{reason} at {'/'.join((*path, row.name))}"

    _tell_above(tx, stack, cleared, now, ids)
    if single_step:
        tx.resources.update(
            [row.id], hooks_and_restrictions=(*row.hooks_and_restrictions, SINGLE_STEP)
        )
    if hook.startswith("post-"):
        tx.resources.update(
            [row.id],
            job_state=JobState.AWAITING_OBSERVATION,
            observed=_end_of(row),
            observe_at=now,
        )
        return (OutgoingMessage(stack.id, stack.version, (row.id,), Recipient.OBSERVER),)
    return dispatch.schedule_leaves(tx, stack, [row.id], settings, now)


def _end_of(row: Resource) -> ObservedState:
    return ObservedState.READY if row.desired is DesiredState.PRESENT else ObservedState.ABSENT
