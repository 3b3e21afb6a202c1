"""The requests of simulated users about resources in quarantine, which they know by name."""

from __future__ import annotations

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.quarantine.user_requests import (
    dismiss_quarantined,
    retry_quarantined,
)
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.testing.simulation.workload.user_requests import UserRequest


def change_quarantine(
    tx: Transaction, stack_id: str, request: UserRequest, context: TraversalContext
) -> list[str]:
    """Retry or dismiss the stack's entries of the requested name; return the dismissed ids."""
    entries = tx.quarantine.get(tx.quarantine.list_ids(stack_id))
    named = [each for each in entries if each.resource_name == request.resource]
    ids = [each.resource_id for each in named] or ["nobody"]
    project_id = named[0].project_id if named else ""
    if request.operation == "retry_quarantined":
        retry_quarantined(tx, project_id, ids, context.now)
        return []
    dismiss_quarantined(tx, project_id, ids, context.now)
    return ids
