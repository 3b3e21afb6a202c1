"""How a user's snapshot ends: with the traversal that took it, in its transaction.

Called by ``ending`` and, where a newer traversal comes before that, by
``traversal``.  Decides nothing about resources: their types took their own.
"""

from __future__ import annotations

from heat_convergence.convergence.document import Secrets, document
from heat_convergence.convergence.model import Action, Stack, Status
from heat_convergence.convergence.ports import Transaction


def finish(tx: Transaction, stack: Stack, status: Status, reason: str) -> None:
    """Notes the end of the snapshot that the stack's traversal takes.  A failed one
    has data too, for some resources may have been saved."""
    if stack.action is not Action.SNAPSHOT:
        return
    data, sensitive = document(tx, stack, Secrets.MASKED)
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
