"""Users' actions on a stack that have no goal: cancel, snapshot, delete and abandon.

Called by the API, each in a transaction of its own.  Each checks the state under the
stack's lock, so that of two requests only one can rely on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import (
    completion,
    rollback,
    traversal,
)
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested.detach import lock_nested_tree
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.progress.failures import stop_traversal
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.quarantine.user_requests import lock_untried
from heat_convergence.convergence.lifecycle.snapshots import snapshot_completion
from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    MetadataResolver,
    SecretVisibility,
    export_stack,
    keep_expressions,
)
from heat_convergence.convergence.lifecycle.traversal import TraversalRequest
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
    """Roll back an update in progress.

    There is no event of a failure: clients that wait would take it for the end.

    Raises:
        NotSupported: the stack is not in UPDATE_IN_PROGRESS.
    """
    stack = _lock(tx, stack_id)
    _require(stack, (Action.UPDATE,), "cancel_update")
    return rollback.begin_rollback(tx, stack, None, context, rebuild)


def cancel_without_rollback(
    tx: Transaction, stack_id: str, context: TraversalContext
) -> ProgressResult:
    """Stop a create or an update in progress, with the nested stacks that it runs.

    Resources under way finish and no other starts; then the stack is FAILED.  A stack that
    is stopping already, after a failure or an earlier cancel, is FAILED at once.

    Raises:
        EntityNotFound: there is no such stack.
        NotSupported: the stack is in another state.
    """
    tree = lock_nested_tree(tx, stack_id)
    stack = tree[-1][0] if tree else _lock(tx, stack_id)
    _require(stack, (Action.UPDATE, Action.CREATE), "cancel_without_rollback")
    at_once = stack.first_failure_reason is not None
    messages: list[OutgoingMessage] = []
    for each, rows in tree:
        reason = each.first_failure_reason or f"Stack {each.action} cancelled"
        if each.in_progress and at_once:
            messages.extend(completion.fail_traversal(tx, each, reason, context))
        elif each.in_progress:
            stopped = stop_traversal(tx, each, reason, context, rows)
            messages.extend(stopped.outgoing_messages)
    return ProgressResult(stack, tuple(messages))


def take_snapshot(
    tx: Transaction,
    stack_id: str,
    name: str | None,
    context: TraversalContext,
    *,
    max_snapshots: int | None = None,
) -> tuple[StartedTraversal, Snapshot]:
    """Start a snapshot of the stack.

    Raises:
        ActionInProgress: another action is under way, or an ancestor takes a snapshot.
        RequestLimitExceeded: the stack has ``max_snapshots`` already.
    """
    stack = _lock(tx, stack_id)
    if stack.in_progress:
        raise errors.ActionInProgress(stack.name, str(stack.action))
    for ancestor in snapshot_completion.get_ancestors_taking_snapshot(tx, stack):
        raise errors.ActionInProgress(ancestor.name, str(ancestor.action))
    if max_snapshots is not None and tx.snapshots.count(stack_id) >= max_snapshots:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: You have reached the maximum snapshots per stack, {max_snapshots}."  # noqa: E501
            " Please delete some snapshots."
        )
    snapshot = Snapshot(
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
    # First, as a snapshot of a stack without resources completes at once.
    tx.snapshots.insert(snapshot)
    request = TraversalRequest(stack_id, Action.SNAPSHOT)
    started = traversal.start_traversal(tx, request, context)
    return started, tx.snapshots.get(stack_id, snapshot.id) or snapshot


def delete_stack(
    tx: Transaction,
    stack_id: str,
    retained_names: Collection[str],
    context: TraversalContext,
    *,
    quarantines: bool = False,
) -> StartedTraversal:
    """Start the deletion of the stack, apart from resources that the user retains.

    Args:
        tx: the transaction.
        stack_id: the stack.
        retained_names: the names of those resources.
        context: the time, the ids and the settings.
        quarantines: whether what cannot be deleted goes into quarantine.

    Raises:
        ResourceNotFound: the stack has no resource of a retained name.
    """
    stack = _lock(tx, stack_id)
    if retained_names:
        retained = [
            row for row in tx.resources.lock_by_stack(stack_id) if row.name in retained_names
        ]
        for name in sorted({*retained_names} - {row.name for row in retained}):
            raise errors.ResourceNotFound(name, stack.name)
        rollback.retain(tx, retained)
    values = {"quarantines": quarantines}
    request = TraversalRequest(stack_id, Action.DELETE, stack_values=values)
    return traversal.start_traversal(tx, request, context)


def abandon_stack(
    tx: Transaction,
    stack_id: str,
    context: TraversalContext,
    *,
    resolve_metadata: MetadataResolver = keep_expressions,
) -> dict[str, Json]:
    """Remove the stack from the database, at any moment, without deleting resources.

    What its deletion has quarantined is left alone, too.

    Returns:
        The document of the stack, with everything that is under way.

    Raises:
        NotSupported: the stack is nested, or the deletion of a resource in quarantine is being
            tried.
    """
    nested = _lock_descendants(tx, stack_id)
    stack = _lock(tx, stack_id)
    if stack.owner_id is not None:
        raise errors.NotSupported(
            f"Abandoning stack {stack.name} is not supported: it is nested in another."
        )
    tx.resources.lock_by_stack(stack_id)
    while len(tx.tree.list_descendants(stack_id)) > len(nested):  # one was just being created
        nested = _lock_descendants(tx, stack_id)
    shown, _sensitive = export_stack(
        tx, stack, SecretVisibility.SHOWN, nested, resolve_metadata=resolve_metadata
    )
    quarantined = tx.quarantine.list_ids_of_tree(stack_id)
    lock_untried(tx, quarantined, context.now)
    tx.quarantine.delete(quarantined)
    for each in (*nested, stack):
        _remove(tx, each, context)
    tx.resources.delete(quarantined)  # those of nested stacks that are deleted already
    return shown


def _lock_descendants(tx: Transaction, stack_id: str) -> list[Stack]:
    """Lock the nested stacks, the deepest first, with their rows.

    A transaction that creates a nested stack has locked its parent's resource.
    """
    locked = []
    for child in tx.tree.list_descendants(stack_id):
        current = tx.stacks.lock(child.id)
        tx.resources.lock_by_stack(child.id)
        if current is not None and current.deleted_at is None:
            locked.append(current)
    return locked


def _remove(tx: Transaction, stack: Stack, context: TraversalContext) -> None:
    stack_id = stack.id
    deleted = replace(stack, action=Action.DELETE, version=stack.version + 1)
    reason = "Stack DELETE completed successfully"
    tx.resources.delete_by_stacks([stack_id])
    tx.snapshots.delete_by_stack(stack_id)
    tx.stacks.update(
        stack_id,
        version=deleted.version,
        action=deleted.action,
        status=Status.COMPLETE,
        status_reason=reason,
        updated_at=context.now,
        started_at=context.now,
        deleted_at=context.now,
        deadline_at=None,
        first_failure_reason=None,
    )
    tx.events.insert([context.stack_event(deleted, Status.COMPLETE, reason)])


def get_restorable_snapshot(tx: Transaction, stack_id: str, snapshot_id: str) -> Snapshot:
    """Return the snapshot if it can be restored.

    Raises:
        NotSupported: it is not complete, or it is being deleted.
    """
    snapshot = _get_snapshot(tx, stack_id, snapshot_id)
    if snapshot.action is not Action.CREATE or snapshot.status is not Status.COMPLETE:
        raise errors.NotSupported(
            f"Restoring snapshot {snapshot_id} in state {snapshot.action}_{snapshot.status}"
            " is not supported."
        )
    return snapshot


def delete_snapshot(
    tx: Transaction,
    stack_id: str,
    snapshot_id: str,
    context: TraversalContext,
    *,
    immediately: bool,
) -> None:
    """Delete a snapshot, or start its deletion.

    Args:
        tx: the transaction.
        stack_id: the stack.
        snapshot_id: the snapshot.
        context: the time.
        immediately: no resource type has anything to delete.
    """
    _lock(tx, stack_id)
    snapshot = _get_snapshot(tx, stack_id, snapshot_id)
    if snapshot.action is Action.CREATE and snapshot.status is Status.IN_PROGRESS:
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
    """Mark a resource unhealthy (FAILED) or healthy (COMPLETE), as a user says.

    The next update of the stack, or of an ancestor, replaces an unhealthy resource.
    COMPLETE only takes that back.

    Raises:
        ActionInProgress: a worker acts on the resource.
    """
    ancestors = _lock_ancestors(tx, resource_id) if status is Status.FAILED else []
    locked = {row.id: row for row in tx.resources.lock([*ancestors, resource_id])}
    row = locked.get(resource_id)
    if row is None:
        return
    if row.lease.is_active(context.now):
        raise errors.ActionInProgress(row.name, str(row.state.action))
    failed_check = row.state.action is Action.CHECK and row.state.status is Status.FAILED
    deleted = row.state.action is Action.DELETE or row.desired.state is DesiredState.ABSENT
    if deleted or (status is Status.COMPLETE and not failed_check):
        return
    # The reason of a failure that no pass has recorded yet becomes the stack's cause.
    failing = row.job.verb is not None and row.observation.state is ObservedState.FAILED
    tx.resources.update(
        [row.id],
        action=Action.CHECK,
        status=status,
        status_reason=row.state.reason if failing else reason,
        updated_at=context.now,
        must_run=True,  # its job, if it has one, is not optional any more
    )
    # The next goal of an ancestor has to update the nested stack.
    tx.resources.update(ancestors, properties_hash=None)
    if not (failed_check and status is Status.FAILED):  # another reason alone is no event
        tx.events.insert([context.resource_event(row, Action.CHECK, status, reason)])


def _lock_ancestors(tx: Transaction, resource_id: str) -> list[str]:
    """Lock the resource's stack and its ancestors.

    Returns:
        The ids of the ancestors' resources, from the nearest to the root's.
    """
    owners: list[Resource] = []
    for found in tx.resources.get([resource_id]):
        owners = tx.tree.list_ancestor_resources(found.stack_id)
        for stack_id in [found.stack_id, *(row.stack_id for row in owners)] if owners else []:
            tx.stacks.lock(stack_id)
    return [row.id for row in owners]


def _lock(tx: Transaction, stack_id: str) -> Stack:
    stack = tx.stacks.lock(stack_id)
    if stack is None or stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", stack_id)
    return stack


def _get_snapshot(tx: Transaction, stack_id: str, snapshot_id: str) -> Snapshot:
    return require_snapshot(tx.snapshots.get(stack_id, snapshot_id), stack_id, snapshot_id)


def require_snapshot(snapshot: Snapshot | None, stack_id: str, snapshot_id: str) -> Snapshot:
    """Return the snapshot.

    Raises:
        SnapshotNotFound: it is None.
    """
    if snapshot is None:
        raise errors.SnapshotNotFound(
            f"The Snapshot ({snapshot_id}) for Stack ({stack_id}) could not be found."
        )
    return snapshot


def _require(stack: Stack, actions: tuple[Action, ...], request: str) -> None:
    if stack.action not in actions or not stack.in_progress:
        allowed = " or ".join(f"{action}_IN_PROGRESS" for action in actions)
        raise errors.NotSupported(
            f"Cancelling update when stack is {stack.action}_{stack.status} is not supported."
            f" {request} is for a stack in {allowed}."
        )
