"""What users may do to a stack beside giving it a goal: cancel, call a resource ill.

Called by the API, in a transaction of its own.  Each checks the state under the
stack's lock, so that two requests never both believe the same.
"""

from __future__ import annotations

from heat_convergence.common import errors
from heat_convergence.convergence import ending, rollback
from heat_convergence.convergence.advance import Advanced
from heat_convergence.convergence.model import Action, Desired, Resource, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Means

UNHEALTHY = "state changed by resource_mark_unhealthy api"


def cancel_update(
    tx: Transaction, stack_id: str, means: Means, rebuild: rollback.Rebuild
) -> Advanced:
    """Goes back to the last goal that was reached; only from UPDATE_IN_PROGRESS."""
    stack = _locked(tx, stack_id)
    _require(stack, {Action.UPDATE}, "cancel_update")
    return rollback.begin(tx, stack, _reason(stack), means, rebuild)


def cancel_without_rollback(tx: Transaction, stack_id: str, means: Means) -> None:
    """Stops where it is; from UPDATE_IN_PROGRESS or CREATE_IN_PROGRESS."""
    stack = _locked(tx, stack_id)
    _require(stack, {Action.UPDATE, Action.CREATE}, "cancel_without_rollback")
    ending.fail(tx, stack, _reason(stack), means.now, means.ids)


def mark_unhealthy(
    tx: Transaction, stack_id: str, row: Resource, reason: str | None, means: Means
) -> None:
    """The resource is CHECK_FAILED: the next update replaces it."""
    _locked(tx, stack_id)
    if row.action is Action.DELETE or row.desired is Desired.ABSENT:
        return
    _set_health(tx, row, Status.FAILED, reason or UNHEALTHY, means)


def mark_healthy(
    tx: Transaction, stack_id: str, row: Resource, reason: str | None, means: Means
) -> None:
    """Takes CHECK_FAILED back; any other state stays as it is."""
    _locked(tx, stack_id)
    if row.action is Action.CHECK and row.status is Status.FAILED:
        _set_health(tx, row, Status.COMPLETE, reason or UNHEALTHY, means)


def _set_health(
    tx: Transaction, row: Resource, status: Status, reason: str, means: Means
) -> None:
    tx.update_resources(
        [row.id],
        action=Action.CHECK,
        status=status,
        status_reason=reason,
        updated_at=means.now,
    )
    tx.insert_events(
        [ending.resource_event(row, Action.CHECK, status, reason, means.now, means.ids)]
    )


def _locked(tx: Transaction, stack_id: str) -> Stack:
    stack = tx.lock_stack(stack_id)
    if stack is None or stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", stack_id)
    return stack


def _require(stack: Stack, actions: set[Action], what: str) -> None:
    if stack.action not in actions or not stack.in_progress:
        raise errors.NotSupported(
            f"{what} of stack {stack.name} in state {stack.action}_{stack.status}"
            " is not supported."
        )


def _reason(stack: Stack) -> str:
    return f"Stack {stack.action} cancelled"
