"""The notification of a parent stack when its nested stack has ended.

The end of a nested stack is an observation of its parent's resource: it is written in
the transaction that ends the stack, and a message says so.  Called by ``completion``
under the stack's lock.  Order of locks: a stack, then the row in its parent; never a
nested stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, Recipient
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def notify_parents(
    tx: Transaction, stacks: Sequence[Stack], now: datetime
) -> dict[str, tuple[OutgoingMessage, ...]]:
    """Have the parents' resources observed after their nested stacks have ended.

    A parent may wait for its stack, or be at rest and show its old attributes.  If it
    does not wait, and the stack has failed or is deleted, the resource is not at its
    goal any more.

    Returns:
        The messages by nested stack; none for one that has no parent.
    """
    parents = _lock_parent_resources(tx, stacks)
    waiting = {key: row for key, row in parents.items() if is_observed_busy(row)}
    messages = {
        stack.id: _record_end(tx, stack, parents[stack.id], now)
        for stack in stacks
        if stack.id in parents and stack.id not in waiting
    }
    return {
        **{stack.id: () for stack in stacks},
        **messages,
        **_request_observations(tx, waiting, now),
    }


def _record_end(
    tx: Transaction, stack: Stack, row: Resource, now: datetime
) -> tuple[OutgoingMessage, ...]:
    """Record the end of a nested stack in its parent's resource, which does not wait for it."""
    if is_nested_stack_cancelled(row):
        tx.jobs.apply([row.id], job_transitions.forget_nested_stack())
        return ()
    mark_changed = stack.status is Status.FAILED or stack.action is Action.DELETE
    return _record_change(tx, stack, row, now, mark_changed=mark_changed)


def propagate_to_ancestors(
    tx: Transaction, stack: Stack, now: datetime, *, mark_changed: bool
) -> tuple[OutgoingMessage, ...]:
    """Propagate an unsolicited change of a nested stack to the next ancestor.

    Called for one stack after the other: all ancestors show values of the changed one,
    and their next goals repair it.
    """
    row = _lock_parent_resources(tx, [stack]).get(stack.id)
    return () if row is None else _record_change(tx, stack, row, now, mark_changed=mark_changed)


def _lock_parent_resources(tx: Transaction, stacks: Sequence[Stack]) -> dict[str, Resource]:
    """Lock the parents' resources whose nested stacks these are; return them by nested stack."""
    ids = [stack.owner_resource_id for stack in stacks if stack.owner_resource_id is not None]
    nested = {stack.id: stack.owner_resource_id for stack in stacks}
    return {
        row.physical.id: row
        for row in tx.resources.lock(ids)
        if row.physical.id is not None and nested.get(row.physical.id) == row.id
    }


def _record_change(
    tx: Transaction, stack: Stack, row: Resource, now: datetime, *, mark_changed: bool
) -> tuple[OutgoingMessage, ...]:
    if mark_changed:
        tx.resources.update([row.id], properties_hash=None)
    return (
        _request_observations(tx, {stack.id: row}, now)[stack.id] if row.job.verb is None else ()
    )


def _request_observations(
    tx: Transaction, parents: Mapping[str, Resource], now: datetime
) -> dict[str, tuple[OutgoingMessage, ...]]:
    """Have the parents' resources of nested stacks observed; return the messages by stack."""
    tx.jobs.apply([row.id for row in parents.values()], job_transitions.request_observation(now))
    return {
        stack_id: (
            OutgoingMessage(
                row.stack_id,
                row.job.version,
                (row.id,),
                Recipient.OBSERVER,
                row.identity.project_id,
            ),
        )
        for stack_id, row in parents.items()
    }


def is_observed_busy(row: Resource) -> bool:
    """Return whether the row's last observation was BUSY.

    A row with a nested stack then waits for that stack.
    """
    return (
        row.job.state is JobState.AWAITING_OBSERVATION
        and row.observation.state is ObservedState.BUSY
    )


def is_nested_stack_cancelled(row: Resource) -> bool:
    """Return whether the nested stack of the row, if it is in progress, is to stop."""
    return row.job.state is JobState.CANCELLED and row.observation.state is ObservedState.BUSY


def cancel_waiting(tx: Transaction, rows: Sequence[Resource]) -> tuple[OutgoingMessage, ...]:
    """Cancel the jobs that wait for nested stacks, and have these stacks cancelled.

    Each nested stack is cancelled in a transaction of its own, by the observer that
    takes the message; a sweep finds those whose message was lost.
    """
    waiting = [row for row in rows if row.awaits_nested_stack]
    tx.jobs.apply([row.id for row in waiting], job_transitions.cancel_nested_stack())
    return tuple(
        OutgoingMessage(row.physical.id, 0, (), Recipient.OBSERVER)
        for row in waiting
        if row.physical.id is not None
    )
