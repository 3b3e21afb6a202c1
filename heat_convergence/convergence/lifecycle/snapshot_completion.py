"""How a user's snapshot ends: with the traversal that took it, in its transaction.

Called by ``ending`` and, where a newer traversal comes before that, by
``traversal``.  Decides nothing about resources: their types took their own.
"""

from __future__ import annotations

from heat_convergence.convergence.lifecycle.stack_export import (
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
"""In the entry of a resource whose own snapshot was not seen to end: what it is called,
and in which version of its stack it was saved, so that whatever was saved can be found
and deleted."""


def record_snapshot_end(tx: Transaction, stack: Stack, status: Status, reason: str) -> None:
    """Notes the end of the snapshot that the stack's traversal takes, with the stacks
    below.  A failed one has data too, for some resources may have been saved."""
    if stack.action is not Action.SNAPSHOT:
        return
    if stack.owner_id is not None and not tx.snapshots.count(stack.id):
        return  # it is saved with a stack above, which takes it down when that ends
    # First, so that no nested stack begins after it was read; those below are not
    # locked, for whoever has them may be waiting for these.
    tx.jobs.lock_by_stack(stack.id)
    data, sensitive = export_stack(
        tx,
        stack,
        SecretVisibility.MASKED,
        tx.tree.list_descendants(stack.tree_id),
        annotate_entry=_Marks(stack, status).entry,
    )
    tx.snapshots.finish(
        stack.id,
        stack.version,
        sensitive=sensitive,
        status=status,
        status_reason=reason,
        data=data,
    )


class _Marks:
    """Of resources that were not saved, or not seen to be: their data may be those of an
    earlier snapshot, and a call under way yet."""

    def __init__(self, stack: Stack, status: Status) -> None:
        self._top = stack
        self._status = status

    def entry(self, stack: Stack, row: Resource, entry: dict[str, Json]) -> dict[str, Json]:
        if is_stack_entry(entry):  # handed over and not there yet: nothing of it was saved
            return {**entry, "resources": {}}
        begun = self._begun(stack)
        if begun and row.job is not Verb.SNAPSHOT:
            return entry
        nothing = {**entry, "resource_data": {}}
        if not begun and self._status is Status.COMPLETE:
            return nothing
        version = stack.version if begun else stack.version + 1
        return {**nothing, PHYSICAL_NAME_KEY: row.physical_name, VERSION_KEY: version}

    def _begun(self, stack: Stack) -> bool:
        """Whether the stack, or one below it, has begun to be saved for this snapshot."""
        if stack.id == self._top.id:
            return True
        started, since = stack.started_at, self._top.started_at
        if stack.action is not Action.SNAPSHOT or started is None or since is None:
            return False
        return started >= since


def supersede_snapshot(tx: Transaction, stack: Stack, action: Action) -> None:
    """A snapshot that is being taken is not waited for by the next traversal."""
    if stack.in_progress:
        record_snapshot_end(tx, stack, Status.FAILED, f"{SUPERSEDED_PREFIX}{action}")


def get_ancestors_taking_snapshot(tx: Transaction, stack: Stack) -> list[Stack]:
    """The stacks above that take a snapshot, the nearest first; locks none.  What is saved
    for it in ``stack`` stands in its rows alone until that ends."""
    if stack.owner_id is None:
        return []
    above = [row.stack_id for row in tx.tree.list_ancestor_resources(stack.id)]
    found = tx.stacks.get_many(above)
    return [found[key] for key in above if key in found and is_taking_snapshot(found[key])]


def is_taking_snapshot(stack: Stack) -> bool:
    """Whether it is at a snapshot."""
    return stack.in_progress and stack.action is Action.SNAPSHOT
