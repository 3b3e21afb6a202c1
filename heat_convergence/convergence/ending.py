"""How a traversal ends: complete, failed, or with the stack gone.

Called under the stack's lock by ``traversal`` and ``advance``.  Touches only the
stack it is given; casts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence import owners, saving
from heat_convergence.convergence.dispatch import Posting
from heat_convergence.convergence.model import (
    IN_FLIGHT,
    Action,
    Event,
    JobState,
    Json,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.ports import Transaction

INTERRUPTED = "Failure occurred while waiting."
NO_CHECK = "CHECK not supported for "  # and the type, in a resource's reason
STACK_TYPE = "OS::Heat::Stack"
_REACH_A_GOAL = frozenset(
    {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.ADOPT, Action.RESTORE}
)
_BETWEEN_TRIES = frozenset({JobState.RETRY, JobState.DUE, JobState.POSTED})
_CAN_ROLL_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT})


def complete(
    tx: Transaction, stack: Stack, now: datetime, ids: IdFactory
) -> tuple[Posting, ...]:
    """RULE 7: called only when no row of the traversal's graph is unready."""
    reason = f"Stack {stack.action} completed successfully"
    values: dict[str, object] = {}
    if stack.action is Action.DELETE:
        tx.erase_resources(stack.id)
        tx.doom_snapshots(stack.id, now)
        tx.prune_goals(stack.id, (stack.goal_id,))
        values["deleted_at"] = now
    else:
        tx.purge_gone(stack.id)
    if stack.action is Action.CHECK and tx.any_says(stack.id, Action.CHECK, NO_CHECK):
        reason += ". 'CHECK' not fully supported (see resources)"
    if stack.action in _REACH_A_GOAL and not _rolled_back_to_nothing(stack):
        values["complete_goal_id"] = stack.goal_id
        if stack.version > 1:  # the first goal has none before it
            tx.prune_goals(stack.id, (stack.goal_id,))
    return _end(tx, stack, Status.COMPLETE, reason, now, ids, values)


def rolls_back(stack: Stack) -> bool:
    """Whether a failure of this traversal leads to a rollback."""
    return not stack.disable_rollback and stack.action in _CAN_ROLL_BACK


def _rolled_back_to_nothing(stack: Stack) -> bool:
    """A create that was rolled back: the goal that stands there was never reached."""
    return stack.action is Action.ROLLBACK and stack.complete_goal_id is None


def fail(
    tx: Transaction, stack: Stack, reason: str, now: datetime, ids: IdFactory
) -> tuple[Posting, ...]:
    """The traversal stops here; whatever it still had under way is given up."""
    told = abort_jobs(tx, stack, now, ids)
    return (*told, *_end(tx, stack, Status.FAILED, reason, now, ids, {}))


def overtake(
    tx: Transaction, stack: Stack, action: Action, now: datetime, ids: IdFactory
) -> tuple[Posting, ...]:
    """A user's action on a nested stack is not waited for by the snapshots that stacks
    above take: they fail, and theirs is what has been saved in it.

    The stack is locked; those above are from here on, for none of them may begin to
    save what is on the way to it meanwhile.
    """
    if not saving.savers(tx, stack):
        return ()
    locked = [tx.lock_stack(row.stack_id) for row in tx.owners_above(stack.id)]
    # Who waits for the stack, or for one on the way to it, does not stop it.
    awaiting = [row.id for row in tx.owners_above(stack.id) if row.awaits_stack]
    tx.update_resources(awaiting, observed=None)
    reason = f"{saving.SUPERSEDED}{action} of nested stack {stack.name}"
    told: list[Posting] = []
    for above in locked:
        if above is not None and saving.saves(above):
            told += fail(tx, above, reason, now, ids)
    return tuple(told)


def abort_jobs(
    tx: Transaction, stack: Stack, now: datetime, ids: IdFactory
) -> tuple[Posting, ...]:
    """No job of the stack starts or is waited for any more; a call that is being
    made ends by itself and leaves what it made for the next traversal.  Nested stacks
    that were waited for are to be given up, too."""
    rows = tx.lock_unfinished(stack.id)
    _tell_held(tx, rows, now, ids)
    running = [row for row in rows if row.status is Status.IN_PROGRESS]
    given_up = owners.give_up(tx, rows)
    kept = {row.id for row in rows if row.awaits_stack}
    tx.update_resources(
        [row.id for row in rows if row.id not in kept],
        job_state=JobState.HALTED,
        observe_at=None,
        observed=None,
    )
    by_action: dict[Action, list[Resource]] = {}
    for row in running:
        by_action.setdefault(row.action, []).append(row)
    for action, members in sorted(by_action.items()):
        reason = f"{action} aborted"
        tx.update_resources(
            [row.id for row in members], status=Status.FAILED, status_reason=reason
        )
        tx.insert_events(
            [resource_event(row, action, Status.FAILED, reason, now, ids) for row in members]
        )
    return given_up


def halt_waiting(tx: Transaction, stack: Stack, now: datetime, ids: IdFactory) -> int:
    """Jobs that have not begun are HALTED; the number of those that go on."""
    rows = tx.lock_unfinished(stack.id)
    _tell_held(tx, rows, now, ids)
    going_on = {row.id for row in rows if row.job_state in IN_FLIGHT and _begun(row)}
    # What waits for another try is under way, too: its pause must not be its end.
    waiting = [row.id for row in rows if row.job_state in _BETWEEN_TRIES]
    tried = tx.retry_counts(stack.version, waiting) if waiting else {}
    going_on |= {row_id for row_id, tries in tried.items() if tries > 0}
    tx.update_resources(
        [row.id for row in rows if row.id not in going_on], job_state=JobState.HALTED
    )
    return len(going_on)


def _tell_held(
    tx: Transaction, rows: Sequence[Resource], now: datetime, ids: IdFactory
) -> None:
    """Events of those that wait at a breakpoint and will not go on."""
    tx.insert_events(
        [
            resource_event(row, row.action, Status.FAILED, INTERRUPTED, now, ids)
            for row in rows
            if row.job_state is JobState.HELD
        ]
    )


def _begun(row: Resource) -> bool:
    held = row.lease_token is not None
    waited_for = row.observe_at is not None and row.job_state is JobState.WATCHED
    return held or waited_for or row.awaits_stack


def called_ill(row: Resource) -> bool:
    """Of one with a job: whether a user has called it ill meanwhile.  A job shows its own
    action, IN_PROGRESS, from its claim on."""
    return row.action is Action.CHECK and row.status is Status.FAILED


def resource_event(
    row: Resource,
    action: Action | str,
    status: Status,
    reason: str,
    now: datetime,
    ids: IdFactory,
    properties: Mapping[str, Json] | None = None,
) -> Event:
    """The event of a resource's new state; the properties are told when the action
    begins, and hold for the events after it."""
    return Event(
        id=ids(),
        stack_id=row.stack_id,
        resource_name=row.name,
        resource_type=row.type,
        physical_id=row.physical_id,
        action=action,
        status=status,
        reason=reason,
        created_at=now,
        properties=properties,
        sensitive=row.sensitive,
    )


def stack_event(stack: Stack, status: Status, reason: str, now: datetime, ids: IdFactory) -> Event:
    """The event of a stack's new state, shown under the stack's own name."""
    return Event(
        id=ids(),
        stack_id=stack.id,
        resource_name=stack.name,
        resource_type=STACK_TYPE,
        physical_id=stack.id,
        action=stack.action,
        status=status,
        reason=reason,
        created_at=now,
    )


def _end(
    tx: Transaction,
    stack: Stack,
    status: Status,
    reason: str,
    now: datetime,
    ids: IdFactory,
    values: dict[str, object],
) -> tuple[Posting, ...]:
    saving.finish(tx, stack, status, reason)
    tx.update_stack(
        stack.id,
        status=status,
        status_reason=reason,
        deadline_at=None,
        first_cause=None,
        **values,
    )
    tx.insert_events([stack_event(stack, status, reason, now, ids)])
    return owners.tell(tx, replace(stack, status=status), now)
