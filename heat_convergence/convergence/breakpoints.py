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
from heat_convergence.convergence import dispatch, places
from heat_convergence.convergence.dispatch import Daemon, Posting
from heat_convergence.convergence.ending import called_ill, resource_event
from heat_convergence.convergence.model import (
    STEP,
    Action,
    Desired,
    JobState,
    Observed,
    Place,
    Resource,
    Stack,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Settings, Transaction

_NAMED = {Action.CREATE: "create", Action.UPDATE: "update", Action.DELETE: "delete"}


def hook_before(stack: Stack, row: Resource) -> str | None:
    """The hook at which this traversal stops before the row's job, set or not."""
    if stack.action not in _NAMED or row.job is not Verb.CONVERGE:
        return None
    new = row.action is Action.INIT
    concerned = {
        Action.CREATE: row.desired is Desired.PRESENT and new,
        Action.UPDATE: row.desired is Desired.PRESENT and not new,
        Action.DELETE: row.desired is Desired.ABSENT,
    }
    return f"pre-{_NAMED[stack.action]}" if concerned[stack.action] else None


def hook_after(stack: Stack, row: Resource) -> str | None:
    """The hook at which it stops when the row is as it should be, set or not."""
    if stack.action not in _NAMED or row.job is not Verb.CONVERGE:
        return None
    made_now = stack.begun_at is not None and row.created_at >= stack.begun_at
    concerned = {
        Action.CREATE: row.desired is Desired.PRESENT,
        Action.UPDATE: row.desired is Desired.PRESENT and not made_now,
        Action.DELETE: row.desired is Desired.ABSENT,
    }
    return f"post-{_NAMED[stack.action]}" if concerned[stack.action] else None


def hold_before(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    now: datetime,
    ids: IdFactory,
    *,
    stepping: bool = False,
) -> frozenset[str]:
    """Holds those of ``rows``, which may start, that a hook is set at, or all of them;
    their ids."""
    held = []
    for row in rows:
        hook = hook_before(stack, row)
        if hook is not None and hook != row.hook and (stepping or hook in row.guards):
            held.append((row, hook))
    _hold(tx, stack, held, now, ids)
    return frozenset(row.id for row, _hook in held)


def hold_after(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], now: datetime, ids: IdFactory
) -> frozenset[str]:
    """Holds those of ``rows``, which are done, that a hook is set at; their ids."""
    held = []
    for row in rows:
        hook = hook_after(stack, row)
        if hook is not None and hook != row.hook and hook in row.guards:
            held.append((row, hook))
    if not held:
        return frozenset()
    well = [row for row, _hook in held if not called_ill(row)]
    tx.update_resources([row.id for row in well], status=Status.COMPLETE, updated_at=now)
    tx.insert_events(
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
        tx.update_resources(
            [row.id for row, its in held if its == hook],
            job_state=JobState.HELD,
            hook=hook,
            posted_at=None,
            observed=None,
            observe_at=None,
        )
    tx.insert_events(
        [
            resource_event(
                row,
                row.action,
                Status.COMPLETE if hook.startswith("post-") else row.status,
                places.paused(stack.action, hook),
                now,
                ids,
            )
            for row, hook in held
        ]
    )

    def waits(action: Action, path: tuple[str, ...]) -> str:
        its = [Place(stack.id, (*path, row.name), hook) for row, hook in held]
        return places.waits(action, its)

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
    for row in tx.owners_above(stack.id):
        if row.status is not Status.IN_PROGRESS:
            break
        path = (row.name, *path)
        told = reason(row.action, path)
        events.append(resource_event(row, row.action, row.status, told, now, ids))
    tx.insert_events(events)


def clear(
    tx: Transaction,
    stack_id: str,
    resource_id: str,
    hook: str,
    settings: Settings,
    now: datetime,
    ids: IdFactory,
    *,
    step: bool = False,
) -> tuple[Posting, ...]:
    """Lets a held row go on; with ``step``, what it lets start is held in turn.

    Raises ``InvalidBreakPointHook`` for a row that does not wait at that hook.
    """
    stack = tx.lock_stack(stack_id)
    rows = tx.lock_jobs([resource_id])
    held = [row for row in rows if row.job_state is JobState.HELD and row.hook == hook]
    if stack is None or not stack.in_progress or not held:
        raise errors.InvalidBreakPointHook(f'The hook "{hook}" is not set at the resource.')
    (row,) = held
    reason = f"Hook {hook} is cleared"
    tx.insert_events([resource_event(row, row.action, row.status, reason, now, ids)])

    def cleared(action: Action, path: tuple[str, ...]) -> str:
        return f"{reason} at {'/'.join((*path, row.name))}"

    _tell_above(tx, stack, cleared, now, ids)
    if step:
        tx.update_resources([row.id], guards=(*row.guards, STEP))
    if hook.startswith("post-"):
        tx.update_resources(
            [row.id],
            job_state=JobState.WATCHED,
            observed=_end_of(row),
            observe_at=now,
        )
        return (Posting(stack.id, stack.version, (row.id,), Daemon.OBSERVER),)
    return dispatch.post_leaves(tx, stack, [row.id], settings, now)


def _end_of(row: Resource) -> Observed:
    return Observed.READY if row.desired is Desired.PRESENT else Observed.ABSENT
