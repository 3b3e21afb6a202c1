"""How a traversal ends: complete, failed, or with the stack gone.

Called under the stack's lock by ``traversal`` and ``advance``.  Touches only the
stack it is given; casts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle import parent_notification, snapshot_completion
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import IN_FLIGHT, JobState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction

INTERRUPTED_AT_HOOK = "Failure occurred while waiting."
CHECK_UNSUPPORTED_PREFIX = "CHECK not supported for "  # and the type, in a resource's reason
STACK_TYPE = "OS::Heat::Stack"
_REACH_A_GOAL = frozenset(
    {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.ADOPT, Action.RESTORE}
)
_BETWEEN_TRIES = frozenset({JobState.RETRY, JobState.SCHEDULABLE, JobState.POSTED})
_CAN_ROLL_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT})


def complete_traversal(
    tx: Transaction, stack: Stack, now: datetime, ids: IdFactory
) -> tuple[OutgoingMessage, ...]:
    """RULE 7: called only when no row of the traversal's graph is unready."""
    reason = f"Stack {stack.action} completed successfully"
    values: dict[str, object] = {}
    if stack.action is Action.DELETE:
        tx.resources.delete_by_stack(stack.id)
        tx.snapshots.schedule_deletion(stack.id, now)
        tx.goals.delete_except(stack.id, (stack.goal_id,))
        values["deleted_at"] = now
    else:
        tx.resources.delete_absent(stack.id)
    if stack.action is Action.CHECK and tx.resources.any_status_reason_startswith(
        stack.id, Action.CHECK, CHECK_UNSUPPORTED_PREFIX
    ):
        reason += ". 'CHECK' not fully supported (see resources)"
    if stack.action in _REACH_A_GOAL and not _rolled_back_to_nothing(stack):
        values["complete_goal_id"] = stack.goal_id
        if stack.version > 1:  # the first goal has none before it
            tx.goals.delete_except(stack.id, (stack.goal_id,))
    return _end(tx, stack, Status.COMPLETE, reason, now, ids, values)


def should_roll_back(stack: Stack) -> bool:
    """Whether a failure of this traversal leads to a rollback."""
    return not stack.disable_rollback and stack.action in _CAN_ROLL_BACK


def _rolled_back_to_nothing(stack: Stack) -> bool:
    """A create that was rolled back: the goal that stands there was never reached."""
    return stack.action is Action.ROLLBACK and stack.complete_goal_id is None


def fail_traversal(
    tx: Transaction, stack: Stack, reason: str, now: datetime, ids: IdFactory
) -> tuple[OutgoingMessage, ...]:
    """The traversal stops here; whatever it still had under way is given up."""
    told = cancel_jobs(tx, stack, now, ids)
    return (*told, *_end(tx, stack, Status.FAILED, reason, now, ids, {}))


def fail_ancestor_snapshots(
    tx: Transaction, stack: Stack, action: Action, now: datetime, ids: IdFactory
) -> tuple[OutgoingMessage, ...]:
    """A user's action on a nested stack is not waited for by the snapshots that stacks
    above take: they fail, and theirs is what has been saved in it.

    The stack is locked; those above are from here on, for none of them may begin to
    save what is on the way to it meanwhile.
    """
    if not snapshot_completion.get_ancestors_taking_snapshot(tx, stack):
        return ()
    locked = [tx.stacks.lock(row.stack_id) for row in tx.tree.list_ancestor_resources(stack.id)]
    # Who waits for the stack, or for one on the way to it, does not stop it.
    awaiting = [
        row.id for row in tx.tree.list_ancestor_resources(stack.id) if row.awaits_nested_stack
    ]
    tx.resources.update(awaiting, observed=None)
    reason = f"{snapshot_completion.SUPERSEDED_PREFIX}{action} of nested stack {stack.name}"
    told: list[OutgoingMessage] = []
    for above in locked:
        if above is not None and snapshot_completion.is_taking_snapshot(above):
            told += fail_traversal(tx, above, reason, now, ids)
    return tuple(told)


def cancel_jobs(
    tx: Transaction, stack: Stack, now: datetime, ids: IdFactory
) -> tuple[OutgoingMessage, ...]:
    """No job of the stack starts or is waited for any more; a call that is being
    made ends by itself and leaves what it made for the next traversal.  Nested stacks
    that were waited for are to be given up, too."""
    rows = tx.jobs.lock_by_stack(stack.id)
    _tell_held(tx, rows, now, ids)
    running = [row for row in rows if row.status is Status.IN_PROGRESS]
    given_up = parent_notification.cancel_waiting(tx, rows)
    kept = {row.id for row in rows if row.awaits_nested_stack}
    tx.resources.update(
        [row.id for row in rows if row.id not in kept],
        job_state=JobState.CANCELLED,
        observe_at=None,
        observed=None,
    )
    by_action: dict[Action, list[Resource]] = {}
    for row in running:
        by_action.setdefault(row.action, []).append(row)
    for action, members in sorted(by_action.items()):
        reason = f"{action} aborted"
        tx.resources.update(
            [row.id for row in members], status=Status.FAILED, status_reason=reason
        )
        tx.events.insert(
            [resource_event(row, action, Status.FAILED, reason, now, ids) for row in members]
        )
    return given_up


def cancel_unstarted_jobs(tx: Transaction, stack: Stack, now: datetime, ids: IdFactory) -> int:
    """Jobs that have not begun are HALTED; the number of those that go on."""
    rows = tx.jobs.lock_by_stack(stack.id)
    _tell_held(tx, rows, now, ids)
    going_on = {row.id for row in rows if row.job_state in IN_FLIGHT and _begun(row)}
    # What waits for another try is under way, too: its pause must not be its end.
    waiting = [row.id for row in rows if row.job_state in _BETWEEN_TRIES]
    tried = tx.graph.get_retry_counts(stack.version, waiting) if waiting else {}
    going_on |= {row_id for row_id, tries in tried.items() if tries > 0}
    tx.resources.update(
        [row.id for row in rows if row.id not in going_on], job_state=JobState.CANCELLED
    )
    return len(going_on)


def _tell_held(tx: Transaction, rows: Sequence[Resource], now: datetime, ids: IdFactory) -> None:
    """Events of those that wait at a breakpoint and will not go on."""
    tx.events.insert(
        [
            resource_event(row, row.action, Status.FAILED, INTERRUPTED_AT_HOOK, now, ids)
            for row in rows
            if row.job_state is JobState.AT_BREAKPOINT
        ]
    )


def _begun(row: Resource) -> bool:
    held = row.lease_token is not None
    waited_for = row.observe_at is not None and row.job_state is JobState.AWAITING_OBSERVATION
    return held or waited_for or row.awaits_nested_stack


def marked_unhealthy(row: Resource) -> bool:
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
) -> tuple[OutgoingMessage, ...]:
    snapshot_completion.record_snapshot_end(tx, stack, status, reason)
    tx.stacks.update(
        stack.id,
        status=status,
        status_reason=reason,
        deadline_at=None,
        first_failure_reason=None,
        **values,
    )
    tx.events.insert([stack_event(stack, status, reason, now, ids)])
    return parent_notification.notify_parent(tx, replace(stack, status=status), now)
