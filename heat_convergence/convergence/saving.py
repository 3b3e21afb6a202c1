"""How a user's snapshot ends: with the traversal that took it, in its transaction.

Called by ``ending`` and, where a newer traversal comes before that, by
``traversal``.  Decides nothing about resources: their types took their own.
"""

from __future__ import annotations

from heat_convergence.convergence.document import Secrets, document, is_stack
from heat_convergence.convergence.model import Action, Json, Resource, Stack, Status, Verb
from heat_convergence.convergence.ports import Transaction

SUPERSEDED = "Snapshot was superseded by "  # and by what
UNSEEN, VERSION = "physical_name", "version"
"""In the entry of a resource whose own snapshot was not seen to end: what it is called,
and in which version of its stack it was saved, so that whatever was saved can be found
and deleted."""


def finish(tx: Transaction, stack: Stack, status: Status, reason: str) -> None:
    """Notes the end of the snapshot that the stack's traversal takes, with the stacks
    below.  A failed one has data too, for some resources may have been saved."""
    if stack.action is not Action.SNAPSHOT:
        return
    if stack.owner_id is not None and not tx.count_snapshots(stack.id):
        return  # it is saved with a stack above, which takes it down when that ends
    # First, so that no nested stack begins after it was read; those below are not
    # locked, for whoever has them may be waiting for these.
    tx.lock_unfinished(stack.id)
    data, sensitive = document(
        tx,
        stack,
        Secrets.MASKED,
        tx.stacks_below(stack.tree_id),
        mark=_Marks(stack, status).entry,
    )
    tx.finish_snapshot(
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
        if is_stack(entry):  # handed over and not there yet: nothing of it was saved
            return {**entry, "resources": {}}
        begun = self._begun(stack)
        if begun and row.job is not Verb.SNAPSHOT:
            return entry
        nothing = {**entry, "resource_data": {}}
        if not begun and self._status is Status.COMPLETE:
            return nothing
        version = stack.version if begun else stack.version + 1
        return {**nothing, UNSEEN: row.physical_name, VERSION: version}

    def _begun(self, stack: Stack) -> bool:
        """Whether the stack, or one below it, has begun to be saved for this snapshot."""
        if stack.id == self._top.id:
            return True
        started, since = stack.begun_at, self._top.begun_at
        if stack.action is not Action.SNAPSHOT or started is None or since is None:
            return False
        return started >= since


def supersede(tx: Transaction, stack: Stack, action: Action) -> None:
    """A snapshot that is being taken is not waited for by the next traversal."""
    if stack.in_progress:
        finish(tx, stack, Status.FAILED, f"{SUPERSEDED}{action}")


def savers(tx: Transaction, stack: Stack) -> list[Stack]:
    """The stacks above that take a snapshot, the nearest first; locks none.  What is saved
    for it in ``stack`` stands in its rows alone until that ends."""
    if stack.owner_id is None:
        return []
    above = [row.stack_id for row in tx.owners_above(stack.id)]
    found = tx.get_stacks(above)
    return [found[key] for key in above if key in found and saves(found[key])]


def saves(stack: Stack) -> bool:
    """Whether it is at a snapshot."""
    return stack.in_progress and stack.action is Action.SNAPSHOT
