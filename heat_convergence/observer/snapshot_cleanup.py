"""The deletion of what resources saved in snapshots that users have deleted.

Called by the observer's sweep.  A snapshot is deleted in parts, each recorded, so that a
large one does not delay other work; failures are tried again with growing pauses and
then shown in the snapshot's status reason.  For a deleted stack nobody can request the
deletion again: it is tried for as long as the stack is known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import Error
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import (
    PHYSICAL_NAME_KEY,
    VERSION_KEY,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.resources.protocol.resource_type import CloudFactory
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import snapshot_data as saving

LOG = logging.getLogger(__name__)
MAX_DELETIONS_PER_SWEEP = 25  # calls for one snapshot in one sweep
RunTransaction = Callable[[Callable[[Transaction], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotCleanup:
    """The deletion of snapshots by one observer.

    Attributes:
        cloud_of: returns the cloud of a stack tree.
        write: runs a function in a transaction.
        errors: the log of unexpected errors.
    """

    store: Store
    registry: ResourceTypeRegistry
    settings: ConvergenceSettings
    cloud_of: CloudFactory
    write: RunTransaction
    errors: ErrorLog

    def delete_due(self, now: datetime, boundary: StackBoundary) -> None:
        """Delete the next part of every snapshot that is due.

        One whose deletion raises is due again after the lease.
        """
        until = now + timedelta(seconds=self.settings.lease_s)
        limit = self.settings.sweep_limit
        for saved in self.store.sweeps.take_snapshots_to_delete(now, until, limit):
            boundary.run(saved.stack_id, partial(self._delete_part, saved, now))

    def _delete_part(self, saved: Snapshot, now: datetime) -> None:
        kept = saving.deletable_entries(saved, self.registry)
        with self.store.transaction() as tx:
            stack = tx.stacks.get(saved.stack_id)
            at_work = _at_work(tx, kept[:MAX_DELETIONS_PER_SWEEP], now)
        if stack is None:  # purged: its project and credentials are not known any more
            self.write(partial(_delete_snapshot, snapshot_id=saved.id))
            return
        cloud = self.cloud_of(stack.tree_id) if kept else None
        ready = [each for each in kept[:MAX_DELETIONS_PER_SWEEP] if each.path not in at_work]
        deleted, cause = saving.delete_entries(saved, ready, now, cloud, self.errors)
        if len(deleted) == len(kept):
            LOG.info(
                "snapshot deleted: stack=%(stack)s snapshot=%(snapshot)s",
                {"stack": saved.stack_id, "snapshot": saved.id},
            )
            self.write(partial(_delete_snapshot, snapshot_id=saved.id))
            return
        values: dict[str, Any] = {"delete_at": now}
        if cause is not None:
            values = _failed(saved, stack, cause, self.settings, now)
        if deleted and saved.data is not None:
            values["data"] = saving.drop_entries(saved.data, deleted)
            values["sensitive"] = saved.sensitive
        self.write(partial(_update_snapshot, snapshot_id=saved.id, values=values))


def _delete_snapshot(tx: Transaction, snapshot_id: str) -> None:
    tx.snapshots.delete(snapshot_id)


def _update_snapshot(tx: Transaction, snapshot_id: str, values: dict[str, Any]) -> None:
    tx.snapshots.update(snapshot_id, **values)


def _at_work(
    tx: Transaction, kept: saving.SnapshotEntries, now: datetime
) -> frozenset[saving.ResourcePath]:
    """Return the resources whose snapshot call may still be under way.

    Until a worker has ended its lease, or the lease has expired, it may save something.
    """
    unobserved: dict[str, dict[str, saving.SnapshotEntry]] = {}  # stack's id → resource's name
    for each in kept:
        if PHYSICAL_NAME_KEY in each.entry:
            unobserved.setdefault(each.stack_document["id"], {})[each.path[-1]] = each
    found, stacks = set(), tx.stacks.get_many(unobserved)
    for stack_id, named in sorted(unobserved.items()):
        stack = stacks.get(stack_id)
        for row in tx.incarnations.list_by_names(stack_id, named):
            each = named[row.name]
            at_work = row.lease.is_active(now) or _is_taken(stack, each)
            if row.identity.physical_name == each.entry[PHYSICAL_NAME_KEY] and at_work:
                found.add(each.path)
    return frozenset(found)


def _is_taken(stack: Stack | None, saved: saving.SnapshotEntry) -> bool:
    """Return whether the stack is still taking the snapshot of the resource."""
    if stack is None or not stack.in_progress or stack.action is not Action.SNAPSHOT:
        return False
    return stack.version == saved.entry.get(VERSION_KEY)


def _failed(
    saved: Snapshot, stack: Stack, cause: Error, settings: ConvergenceSettings, now: datetime
) -> dict[str, Any]:
    reason = f"{type(cause).__name__}: {cause.path}: {cause.message}"
    tries = saved.tries + 1
    if tries == settings.retry_limit:
        LOG.warning(
            "snapshot not deleted: stack=%(stack)s snapshot=%(snapshot)s error=%(error)s",
            {"stack": stack.id, "snapshot": saved.id, "error": reason},
        )
    if tries >= settings.retry_limit and stack.action is not Action.DELETE:
        ended = {"status": Status.FAILED, "delete_at": None}
        return {**ended, "status_reason": reason, "tries": tries}
    pause = timedelta(seconds=settings.backoff_s(saved.tries))
    return {"status_reason": reason, "tries": tries, "delete_at": now + pause}
