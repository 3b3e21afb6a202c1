"""The completion of a user's snapshot, in the transaction that ends its traversal.

Called by ``completion`` and, where a newer traversal supersedes it, by ``traversal``.
Must not decide anything about resources: their types have saved them.
"""

from __future__ import annotations

from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    SecretVisibility,
    export_stack,
    is_stack_entry,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import Verb
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction

SUPERSEDED_PREFIX = "Snapshot was superseded by "  # and by what
PHYSICAL_NAME_KEY, VERSION_KEY = "physical_name", "version"
"""Keys in the entry of a resource whose own snapshot was not observed to end.

They are its physical name and the version of its stack, by which the data can be found
and deleted.
"""
SENSITIVE_KEY = "sensitive"
"""Key in the entry of a resource: whether its data and metadata may hold a secret."""


def record_snapshot_end(tx: Transaction, stack: Stack, status: Status, reason: str) -> None:
    """Complete the snapshot that the stack's traversal takes, with its nested stacks.

    A failed snapshot has data, too, as some resources may have been saved.
    """
    if stack.action is not Action.SNAPSHOT:
        return
    if stack.owner_id is not None and not tx.snapshots.count(stack.id):
        return  # it is saved with an ancestor, whose snapshot has its entries
    # First, so that no nested stack starts after it was read.  Nested stacks are not
    # locked: a transaction that has locked them may wait for these rows.
    tx.jobs.lock_by_stack(stack.id)
    data, sensitive = export_stack(
        tx,
        stack,
        SecretVisibility.MASKED,
        tx.tree.list_descendants(stack.tree_id),
        annotate_entry=_UnsavedEntries(stack, status).annotate,
    )
    tx.snapshots.finish(
        stack.id,
        stack.version,
        sensitive=sensitive,
        status=status,
        status_reason=reason,
        data=data,
    )


class _UnsavedEntries:
    """Annotations of resources that were not saved, or not observed to be.

    Their data may be those of an earlier snapshot, and a call may still be under way.
    """

    def __init__(self, stack: Stack, status: Status) -> None:
        self._root = stack
        self._status = status

    def annotate(self, stack: Stack, row: Resource, entry: dict[str, Json]) -> dict[str, Json]:
        """Return the entry without the data that this snapshot did not save."""
        if is_stack_entry(entry):  # not adopted yet: nothing of it was saved
            return {**entry, "resources": {}}
        entry = {**entry, SENSITIVE_KEY: row.desired.sensitive}
        started = self._has_started(stack)
        if started and row.job.verb is not Verb.SNAPSHOT:
            return entry
        without_data = {**entry, "resource_data": {}}
        if not started and self._status is Status.COMPLETE:
            return without_data
        version = stack.version if started else stack.version + 1
        return {
            **without_data,
            PHYSICAL_NAME_KEY: row.identity.physical_name,
            VERSION_KEY: version,
        }

    def _has_started(self, stack: Stack) -> bool:
        """Return whether the stack's part of this snapshot has started."""
        if stack.id == self._root.id:
            return True
        started, since = stack.started_at, self._root.started_at
        if stack.action is not Action.SNAPSHOT or started is None or since is None:
            return False
        return started >= since


def supersede_snapshot(tx: Transaction, stack: Stack, action: Action) -> None:
    """Fail the snapshot that the next traversal of the stack supersedes."""
    if stack.in_progress:
        record_snapshot_end(tx, stack, Status.FAILED, f"{SUPERSEDED_PREFIX}{action}")


def get_ancestors_taking_snapshot(tx: Transaction, stack: Stack) -> list[Stack]:
    """Return the ancestors that take a snapshot, the nearest first; lock none.

    The data that are saved in ``stack`` are in its rows only until that snapshot ends.
    """
    if stack.owner_id is None:
        return []
    ancestor_ids = [row.stack_id for row in tx.tree.list_ancestor_resources(stack.id)]
    found = tx.stacks.get_many(ancestor_ids)
    return [found[key] for key in ancestor_ids if key in found and is_taking_snapshot(found[key])]


def is_taking_snapshot(stack: Stack) -> bool:
    """Return whether the stack is taking a snapshot."""
    return stack.in_progress and stack.action is Action.SNAPSHOT
