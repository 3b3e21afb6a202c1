"""How a user's snapshot ends: with the traversal that took it, in its transaction.

Called by ``ending`` and, where a newer traversal comes before that, by
``traversal``.  Decides nothing about resources: their types took their own.
"""

from __future__ import annotations

from heat_convergence.convergence.document import Secrets, document
from heat_convergence.convergence.model import Action, Stack, Status, Verb
from heat_convergence.convergence.ports import Transaction

UNSEEN = "physical_name"
"""In the entry of a resource whose own snapshot was not seen to end: what it is called,
so that whatever was saved can be found and deleted."""


def finish(tx: Transaction, stack: Stack, status: Status, reason: str) -> None:
    """Notes the end of the snapshot that the stack's traversal takes.  A failed one
    has data too, for some resources may have been saved."""
    if stack.action is not Action.SNAPSHOT:
        return
    data, sensitive = document(tx, stack, Secrets.MASKED)
    for row in tx.lock_unfinished(stack.id):
        if row.job is Verb.SNAPSHOT and row.name in data["resources"]:
            # Its data may be those of an earlier snapshot, and a call under way yet.
            entry = {**data["resources"][row.name], "resource_data": {}}
            data["resources"][row.name] = {**entry, UNSEEN: row.physical_name}
    tx.finish_snapshot(
        stack.id,
        stack.version,
        sensitive=sensitive,
        status=status,
        status_reason=reason,
        data=data,
    )


def supersede(tx: Transaction, stack: Stack, action: Action) -> None:
    """A snapshot that is being taken is not waited for by the next traversal."""
    if stack.in_progress:
        finish(tx, stack, Status.FAILED, f"Snapshot was superseded by {action}")
