"""The requests of users about resources in quarantine: another try, or none any more.

Called by the API in transactions. Must not call the cloud: observers do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from heat_convergence.common.errors import EntityNotFound, NotSupported
from heat_convergence.convergence.lifecycle.quarantine.nested_removal import detach_nested_stack
from heat_convergence.convergence.planning.job_steps import has_nested_stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.quarantine.entry import QuarantineEntry


def retry_quarantined(
    tx: Transaction, project_id: str, ids: Collection[str], now: datetime
) -> None:
    """Have observers try at once to delete resources in quarantine.

    Those whose stack is still being deleted are tried after that.

    Raises:
        EntityNotFound: the project has none of an id in quarantine; nothing is changed.
    """
    entries = _get_entries(tx, project_id, ids)
    active = [each.resource_id for each in entries if each.next_at is not None]
    tx.quarantine.update(active, next_at=now)


def dismiss_quarantined(
    tx: Transaction, project_id: str, ids: Collection[str], now: datetime
) -> None:
    """Remove resources from quarantine; what is left of them is the user's from here on.

    A nested stack that was not deleted yet becomes a root stack.

    Raises:
        EntityNotFound: the project has none of an id in quarantine; nothing is changed.
        NotSupported: the stack of one is still being deleted, or its deletion is being tried.
    """
    entries = _get_entries(tx, project_id, ids)
    lock_untried(tx, ids, now)
    for each in entries:
        if each.next_at is None:
            raise NotSupported(
                f"Dismissing {each.resource_name} is not supported while stack"
                f" {each.stack_name} is being deleted."
            )
    for row in tx.resources.get([each.resource_id for each in entries]):
        if has_nested_stack(row):
            detach_nested_stack(tx, row)
    tx.quarantine.delete([each.resource_id for each in entries])
    tx.resources.delete([each.resource_id for each in entries])
    for root_id in sorted({each.root_id for each in entries}):
        tx.quarantine.wake(root_id, now)


def lock_untried(tx: Transaction, ids: Collection[str], now: datetime) -> None:
    """Lock entries, so that no observer takes them.

    Raises:
        NotSupported: an observer has taken one, and may be about to delete its resource.
    """
    for each in tx.quarantine.lock(ids):
        if each.taken_until is not None and each.taken_until > now:
            raise NotSupported(
                f"Leaving {each.resource_name} of stack {each.stack_name} alone is not supported"
                " while its deletion is being tried."
            )


def _get_entries(tx: Transaction, project_id: str, ids: Collection[str]) -> list[QuarantineEntry]:
    entries = [each for each in tx.quarantine.get(ids) if each.project_id == project_id]
    missing = sorted(set(ids) - {each.resource_id for each in entries})
    if missing:
        raise EntityNotFound("Quarantined resource", missing[0])
    return entries
