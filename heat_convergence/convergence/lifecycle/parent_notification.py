"""A nested stack and the resource that it is behind: how the one hears of the other.

The end of a stack is an observation of the resource in its parent: it is noted in
the rows in the transaction that ends the stack, and told by a message.  Called by
``ending`` under the stack's lock.  Order of locks: a stack, then
the row in its parent; never a stack below.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage, Recipient
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def notify_parent(tx: Transaction, stack: Stack, now: datetime) -> tuple[OutgoingMessage, ...]:
    """The stack has ended: its owner's row is due to be looked at, whether the owner
    waits for it or is at rest and may show attributes that were.  One that does not wait
    for it is not what it was, for its next goal, if the stack has failed or is gone."""
    row = _owner_of(tx, stack)
    if row is None:
        return ()
    if is_nested_stack_cancelled(row):
        tx.resources.update([row.id], observed=None)
        return ()
    if is_observed_busy(row):
        return _due(tx, row, now)
    fallen = stack.status is Status.FAILED or stack.action is Action.DELETE
    return _note(tx, row, now, fallen=fallen)


def propagate_to_ancestors(
    tx: Transaction, stack: Stack, now: datetime, *, mark_changed: bool
) -> tuple[OutgoingMessage, ...]:
    """What is behind a resource of the stack has ended, as it was not asked to from here:
    so it goes up, a stack at a time, for those above show of it and have to mend it."""
    row = _owner_of(tx, stack)
    return () if row is None else _note(tx, row, now, fallen=mark_changed)


def _owner_of(tx: Transaction, stack: Stack) -> Resource | None:
    """The row that the stack is behind, locked."""
    if stack.owner_resource_id is None:
        return None
    rows = tx.resources.lock([stack.owner_resource_id])
    return next((row for row in rows if row.physical_id == stack.id), None)


def _note(
    tx: Transaction, row: Resource, now: datetime, *, fallen: bool
) -> tuple[OutgoingMessage, ...]:
    if fallen:
        tx.resources.update([row.id], properties_hash=None)
    return _due(tx, row, now) if row.job is None else ()


def _due(tx: Transaction, row: Resource, now: datetime) -> tuple[OutgoingMessage, ...]:
    tx.resources.update([row.id], observe_at=now)
    return (OutgoingMessage(row.stack_id, row.version, (row.id,), Recipient.OBSERVER),)


def is_observed_busy(row: Resource) -> bool:
    """Whether it was seen on its way; of a row that a nested stack is behind: whether
    it waits for that stack."""
    return row.job_state is JobState.AWAITING_OBSERVATION and row.observed is ObservedState.BUSY


def is_nested_stack_cancelled(row: Resource) -> bool:
    """Whether the stack behind the row, if it is still at work, is to stop."""
    return row.job_state is JobState.CANCELLED and row.observed is ObservedState.BUSY


def cancel_waiting(tx: Transaction, rows: Sequence[Resource]) -> tuple[OutgoingMessage, ...]:
    """Halts those of ``rows`` that wait for stacks, which are to stop, too: each in
    its own transaction, by whoever takes the message; else a sweep finds it."""
    waiting = [row for row in rows if row.awaits_nested_stack]
    tx.resources.update([row.id for row in waiting], job_state=JobState.CANCELLED)
    return tuple(
        OutgoingMessage(row.physical_id, 0, (), Recipient.OBSERVER)
        for row in waiting
        if row.physical_id is not None
    )
