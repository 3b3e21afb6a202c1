"""What users may do to a stack beside giving it a goal: cancel, save, abandon and so on.

Called by the API, in a transaction of its own.  Each checks the state under the
stack's lock, so that two requests never both believe the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import (
    completion,
    rollback,
    snapshot_completion,
    traversal,
)
from heat_convergence.convergence.lifecycle.progress import ProgressResult
from heat_convergence.convergence.lifecycle.stack_export import (
    MetadataResolver,
    SecretVisibility,
    export_stack,
    keep_expressions,
)
from heat_convergence.convergence.lifecycle.traversal import StartedTraversal, TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, ObservedState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def cancel_update(
    tx: Transaction,
    stack_id: str,
    context: TraversalContext,
    rebuild: rollback.DefinitionRebuilder,
) -> ProgressResult:
    """Goes back to the last goal that was reached; only from UPDATE_IN_PROGRESS.  No
    event tells of a failure: clients that wait would take it for the end."""
    stack = _locked(tx, stack_id)
    _require(stack, (Action.UPDATE,), "cancel_update")
    return rollback.begin_rollback(tx, stack, None, context, rebuild)


def cancel_without_rollback(
    tx: Transaction, stack_id: str, context: TraversalContext
) -> ProgressResult:
    """Stops where it is; from UPDATE_IN_PROGRESS or CREATE_IN_PROGRESS."""
    stack = _locked(tx, stack_id)
    _require(stack, (Action.UPDATE, Action.CREATE), "cancel_without_rollback")
    reason = f"Stack {stack.action} cancelled"
    return ProgressResult(
        stack, completion.fail_traversal(tx, stack, reason, context.now, context.ids)
    )


def take_snapshot(
    tx: Transaction,
    stack_id: str,
    name: str | None,
    context: TraversalContext,
    *,
    max_snapshots: int | None = None,
) -> tuple[StartedTraversal, Snapshot]:
    """Begins to save the stack.  Raises ``ActionInProgress`` while anything else is under
    way, or a stack above is being saved, ``RequestLimitExceeded`` beyond ``most`` snapshots.
    """
    stack = _locked(tx, stack_id)
    if stack.in_progress:
        raise errors.ActionInProgress(stack.name, str(stack.action))
    for above in snapshot_completion.get_ancestors_taking_snapshot(tx, stack):
        raise errors.ActionInProgress(above.name, str(above.action))
    if max_snapshots is not None and tx.snapshots.count(stack_id) >= max_snapshots:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: You have reached the maximum snapshots per stack, {max_snapshots}."  # noqa: E501
            " Please delete some snapshots."
        )
    saved = Snapshot(
        id=context.ids(),
        stack_id=stack_id,
        project_id=stack.project_id,
        name=name,
        version=stack.version + 1,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        status_reason="",
        goal_id=stack.goal_id,
        created_at=context.now,
    )
    # First, for a stack without resources is saved as soon as it begins.
    tx.snapshots.insert(saved)
    begun = traversal.start_traversal(
        tx, stack_id=stack_id, action=Action.SNAPSHOT, context=context
    )
    return begun, tx.snapshots.get(stack_id, saved.id) or saved


def delete_stack(
    tx: Transaction, stack_id: str, retained_names: Collection[str], context: TraversalContext
) -> StartedTraversal:
    """Begins to delete the stack, but for the resources that the user says to leave:
    a service may never let go of one.  Raises ``ResourceNotFound``."""
    stack = _locked(tx, stack_id)
    if retained_names:
        left = [row for row in tx.resources.lock_by_stack(stack_id) if row.name in retained_names]
        for name in sorted({*retained_names} - {row.name for row in left}):
            raise errors.ResourceNotFound(name, stack.name)
        rollback.retain(tx, left)
    return traversal.start_traversal(tx, stack_id=stack_id, action=Action.DELETE, context=context)


def abandon_stack(
    tx: Transaction,
    stack_id: str,
    context: TraversalContext,
    *,
    resolve_metadata: MetadataResolver = keep_expressions,
) -> dict[str, Json]:
    """Forgets the stack at any moment, and tells all there is of it, what is under way
    included: nothing is deleted, and nobody looks after it any more.  ``finish`` as in
    ``document``."""
    below = _lock_below(tx, stack_id)
    stack = _locked(tx, stack_id)
    if stack.owner_id is not None:
        raise errors.NotSupported(
            f"Abandoning stack {stack.name} is not supported: it is nested in another."
        )
    tx.resources.lock_by_stack(stack_id)
    while len(tx.tree.list_descendants(stack_id)) > len(below):  # one was just being made
        below = _lock_below(tx, stack_id)
    shown, _sensitive = export_stack(
        tx, stack, SecretVisibility.SHOWN, below, resolve_metadata=resolve_metadata
    )
    for each in (*below, stack):
        _forget(tx, each, context)
    return shown


def _lock_below(tx: Transaction, stack_id: str) -> list[Stack]:
    """The stacks below, locked from the deepest up, with their rows: whoever makes a
    nested stack holds the row that it is behind."""
    locked = []
    for child in tx.tree.list_descendants(stack_id):
        now = tx.stacks.lock(child.id)
        tx.resources.lock_by_stack(child.id)
        if now is not None and now.deleted_at is None:
            locked.append(now)
    return locked


def _forget(tx: Transaction, stack: Stack, means: TraversalContext) -> None:
    stack_id = stack.id
    gone = replace(stack, action=Action.DELETE, version=stack.version + 1)
    reason = "Stack DELETE completed successfully"
    tx.resources.delete_by_stack(stack_id)
    tx.snapshots.delete_by_stack(stack_id)
    tx.stacks.update(
        stack_id,
        version=gone.version,
        action=gone.action,
        status=Status.COMPLETE,
        status_reason=reason,
        updated_at=means.now,
        deleted_at=means.now,
        deadline_at=None,
        first_failure_reason=None,
    )
    tx.events.insert([completion.stack_event(gone, Status.COMPLETE, reason, means.now, means.ids)])


def get_restorable_snapshot(tx: Transaction, stack_id: str, snapshot_id: str) -> Snapshot:
    """The snapshot, if it can be gone back to: it is whole, and not on its way out."""
    saved = _saved(tx, stack_id, snapshot_id)
    if saved.action is not Action.CREATE or saved.status is not Status.COMPLETE:
        raise errors.NotSupported(
            f"Restoring snapshot {snapshot_id} in state {saved.action}_{saved.status}"
            " is not supported."
        )
    return saved


def delete_snapshot(
    tx: Transaction,
    stack_id: str,
    snapshot_id: str,
    context: TraversalContext,
    *,
    immediately: bool,
) -> None:
    """``immediately``: no resource's type has anything to delete."""
    _locked(tx, stack_id)
    saved = _saved(tx, stack_id, snapshot_id)
    if saved.action is Action.CREATE and saved.status is Status.IN_PROGRESS:
        raise errors.NotSupported(
            f"Deleting snapshot {snapshot_id} while it is being taken is not supported."
        )
    if immediately:
        tx.snapshots.delete(snapshot_id)
        return
    tx.snapshots.update(
        snapshot_id,
        action=Action.DELETE,
        status=Status.IN_PROGRESS,
        status_reason="",
        delete_at=context.now,
        tries=0,
    )


def mark_unhealthy(
    tx: Transaction, resource_id: str, status: Status, reason: str, context: TraversalContext
) -> None:
    """A user's word on a resource's health: FAILED, and the next update replaces it, also
    one of a stack above, or COMPLETE, which takes that back and changes no other state.

    Raises ``ActionInProgress`` while a worker acts on it.
    """
    above = _owners(tx, resource_id) if status is Status.FAILED else []
    locked = {row.id: row for row in tx.resources.lock([*above, resource_id])}
    row = locked.get(resource_id)
    if row is None:
        return
    if row.is_leased(context.now):
        raise errors.ActionInProgress(row.name, str(row.action))
    failed_check = row.action is Action.CHECK and row.status is Status.FAILED
    known_gone = row.action is Action.DELETE or row.desired is DesiredState.ABSENT
    if known_gone or (status is Status.COMPLETE and not failed_check):
        return
    # Why its job has failed, of which nobody has taken note yet, becomes the stack's cause.
    failing = row.job is not None and row.observed is ObservedState.FAILED
    tx.resources.update(
        [row.id],
        action=Action.CHECK,
        status=status,
        status_reason=row.status_reason if failing else reason,
        updated_at=context.now,
        must_run=True,  # its job, if it has one, is no idle one any more
    )
    # What it is in is not what it was either, for the next goal of a stack above.
    tx.resources.update(above, properties_hash=None)
    tx.events.insert(
        [completion.resource_event(row, Action.CHECK, status, reason, context.now, context.ids)]
    )


def _owners(tx: Transaction, resource_id: str) -> list[str]:
    """Ids of the rows that the resource's stack and those above are behind, all of whose
    stacks are locked, from the resource's up."""
    owners: list[Resource] = []
    for found in tx.resources.get([resource_id]):
        owners = tx.tree.list_ancestor_resources(found.stack_id)
        for stack_id in [found.stack_id, *(row.stack_id for row in owners)] if owners else []:
            tx.stacks.lock(stack_id)
    return [row.id for row in owners]


def _locked(tx: Transaction, stack_id: str) -> Stack:
    stack = tx.stacks.lock(stack_id)
    if stack is None or stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", stack_id)
    return stack


def _saved(tx: Transaction, stack_id: str, snapshot_id: str) -> Snapshot:
    return require_snapshot(tx.snapshots.get(stack_id, snapshot_id), stack_id, snapshot_id)


def require_snapshot(saved: Snapshot | None, stack_id: str, snapshot_id: str) -> Snapshot:
    """Raises ``SnapshotNotFound``."""
    if saved is None:
        raise errors.SnapshotNotFound(
            f"The Snapshot ({snapshot_id}) for Stack ({stack_id}) could not be found."
        )
    return saved


def _require(stack: Stack, actions: tuple[Action, ...], what: str) -> None:
    if stack.action not in actions or not stack.in_progress:
        allowed = " or ".join(f"{action}_IN_PROGRESS" for action in actions)
        raise errors.NotSupported(
            f"{what} is for a stack in {allowed}; {stack.name} is {stack.action}_{stack.status}."
        )
