"""A nested stack and the resource that it is behind: how the one hears of the other.

The end of a stack is an observation of the resource in its parent: it is noted in
the rows in the transaction that ends the stack, and told by a message.  Called by
``ending`` under the stack's lock.  Order of locks: a stack, then
the row in its parent; never a stack below.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from heat_convergence.convergence.dispatch import Daemon, Posting
from heat_convergence.convergence.model import (
    Action,
    JobState,
    Observed,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.ports import Transaction


def tell(tx: Transaction, stack: Stack, now: datetime) -> tuple[Posting, ...]:
    """The stack has ended: its owner's row is due to be looked at, whether the owner
    waits for it or is at rest and may show attributes that were.  One that does not wait
    for it is not what it was, for its next goal, if the stack has failed or is gone."""
    if stack.owner_id is None or stack.owner_resource_id is None:
        return ()
    for row in tx.lock_jobs([stack.owner_resource_id]):
        if row.physical_id != stack.id:
            return ()
        if given_up(row):
            tx.update_resources([row.id], observed=None)
            return ()
        fallen = stack.status is Status.FAILED or stack.action is Action.DELETE
        if fallen and not waits(row):
            tx.update_resources([row.id], properties_hash=None)
        if row.job is None or waits(row):
            tx.update_resources([row.id], observe_at=now)
            return (Posting(stack.owner_id, row.version, (row.id,), Daemon.OBSERVER),)
    return ()


def waits(row: Resource) -> bool:
    """Whether it was seen on its way; of a row that a nested stack is behind: whether
    it waits for that stack."""
    return row.job_state is JobState.WATCHED and row.observed is Observed.BUSY


def given_up(row: Resource) -> bool:
    """Whether the stack behind the row, if it is still at work, is to stop."""
    return row.job_state is JobState.HALTED and row.observed is Observed.BUSY


def give_up(tx: Transaction, rows: Sequence[Resource]) -> tuple[Posting, ...]:
    """Halts those of ``rows`` that wait for stacks, which are to stop, too: each in
    its own transaction, by whoever takes the message; else a sweep finds it."""
    waiting = [row for row in rows if row.awaits_stack]
    tx.update_resources([row.id for row in waiting], job_state=JobState.HALTED)
    return tuple(
        Posting(row.physical_id, 0, (), Daemon.OBSERVER)
        for row in waiting
        if row.physical_id is not None
    )
