"""The deletion of what resources saved in snapshots that users have deleted.

Called by the observer's sweep, which starts the calls among its polls: those to a service that
hangs delay neither the sweep nor the calls to other services; its next round records what they
have deleted.  A snapshot is deleted in parts, so that a large one does not delay other work;
failures are tried again with growing pauses and then shown in the snapshot's status reason.  For
a deleted stack nobody can request the deletion again: it is tried for as long as the stack is
known.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
from heat_convergence.observer.poll_pool import PollsInProgress
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.resources.protocol.verb_values import CloudFactory
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import snapshot_data as saving

LOG = logging.getLogger(__name__)
MAX_DELETIONS_PER_PART = 25  # calls for one snapshot to one service
RunTransaction = Callable[[Callable[[Transaction], bool]], bool]


@dataclass(frozen=True, slots=True)
class _Part:
    """Result of the calls to one service for a snapshot.

    Attributes:
        saved: The snapshot as it was before.
        deleted: The resources whose data was deleted.
        cause: The first error.
    """

    saved: Snapshot
    deleted: Sequence[saving.ResourcePath]
    cause: Error | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotCleanup:
    """The deletion of snapshots by one observer.

    Attributes:
        cloud_of: returns the cloud of a stack tree.
        write: runs a function in a transaction and returns its result.
        polls: the calls under way.
        request_round: makes the observer's next round record results soon.
        boundary: the error boundaries of the observer.
        errors: the log of unexpected errors.
    """

    store: Store
    registry: ResourceTypeRegistry
    settings: ConvergenceSettings
    cloud_of: CloudFactory
    write: RunTransaction
    polls: PollsInProgress
    request_round: Callable[[], None]
    boundary: StackBoundary
    errors: ErrorLog
    _parts: deque[_Part] = field(default_factory=deque)

    def delete_due(self, now: datetime) -> None:
        """Start to delete the next part of every snapshot that is due.

        One whose deletion raises, or ends with this process, is due again after the lease.
        """
        until = now + timedelta(seconds=self.settings.lease_s)
        limit = self.settings.sweep_limit
        for saved in self.store.sweeps.take_snapshots_to_delete(now, until, limit):
            self.boundary.run(saved.stack_id, partial(self._start, saved, now))
        self.record_results(now)

    @property
    def has_results(self) -> bool:
        """Return whether parts were deleted that were not recorded."""
        return bool(self._parts)

    def record_results(self, now: datetime) -> None:
        """Record what has been deleted since."""
        found: dict[str, list[_Part]] = {}
        while self._parts:
            part = self._parts.popleft()
            found.setdefault(part.saved.id, []).append(part)
        for parts in found.values():
            self.boundary.run(parts[0].saved.stack_id, partial(self._record, parts, now))

    def _start(self, saved: Snapshot, now: datetime) -> None:
        kept = saving.deletable_entries(saved, self.registry)
        missing = saving.find_missing_type(saved, self.registry)
        with self.store.transaction() as tx:
            stack = tx.stacks.get(saved.stack_id)
        if stack is None or not (kept or missing):
            # A purged stack's project and credentials are not known any more.
            self.write(partial(_delete_snapshot, snapshot_id=saved.id))
            return
        if not kept:
            self._parts.append(_Part(saved, [], missing))
            return
        cloud = self.cloud_of(stack.tree_id)
        by_service = {
            groups: entries[:MAX_DELETIONS_PER_PART]
            for groups, entries in saving.group_entries(saved, kept, now, cloud).items()
        }
        with self.store.transaction() as tx:
            at_work = _at_work(tx, [each for some in by_service.values() for each in some], now)
        ready = {
            groups: [each for each in entries if each.path not in at_work]
            for groups, entries in sorted(by_service.items())
        }
        for groups, entries in ready.items():
            work = partial(self._delete, saved, entries, now, cloud)
            if entries:
                self.polls.start((saved.id, groups), groups, work)
        if not any(ready.values()):
            self._parts.append(_Part(saved, [], None))

    def _delete(
        self, saved: Snapshot, entries: saving.SnapshotEntries, now: datetime, cloud: Any
    ) -> None:
        """Delete what resources saved, perhaps in another thread."""

        def delete() -> None:
            found = saving.delete_entries(saved, entries, now, cloud, self.errors)
            self._parts.append(_Part(saved, *found))

        self.boundary.run(saved.stack_id, delete)
        self.request_round()

    def _record(self, parts: Sequence[_Part], now: datetime) -> None:
        saved = parts[0].saved
        if self.write(partial(self._write_parts, parts=parts, now=now)):
            LOG.info(
                "snapshot deleted: stack=%(stack)s snapshot=%(snapshot)s",
                {"stack": saved.stack_id, "snapshot": saved.id},
            )

    def _write_parts(self, tx: Transaction, parts: Sequence[_Part], now: datetime) -> bool:
        """Update the row, or delete it when nothing is left; return whether it was deleted.

        Another observer may have updated it meanwhile; what it deletes again is gone already.
        """
        saved, deleted = parts[0].saved, {path for part in parts for path in part.deleted}
        current = tx.snapshots.get(saved.stack_id, saved.id)
        if current is None:
            return False
        data = current.data
        if deleted and data is not None:
            data = saving.drop_entries(data, deleted)
        left = replace(current, data=data)
        cause = next((part.cause for part in parts if part.cause is not None), None)
        if not saving.deletable_entries(left, self.registry):
            cause = saving.find_missing_type(left, self.registry)
            if cause is None:
                return _delete_snapshot(tx, saved.id)
        values: dict[str, Any] = {}
        if cause is not None:
            values = _failed(current, tx.stacks.get(saved.stack_id), cause, self.settings, now)
        elif current.tries == saved.tries:  # else the pause after a failure goes on
            values = {"delete_at": now}
        if deleted:
            values |= {"data": data, "sensitive": current.sensitive}
        if values:
            tx.snapshots.update(saved.id, **values)
        return False


def _delete_snapshot(tx: Transaction, snapshot_id: str) -> bool:
    tx.snapshots.delete(snapshot_id)
    return True


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
    saved: Snapshot,
    stack: Stack | None,
    cause: Error,
    settings: ConvergenceSettings,
    now: datetime,
) -> dict[str, Any]:
    reason = f"{type(cause).__name__}: {cause.path}: {cause.message}"
    tries = saved.tries + 1
    if tries == settings.retry_limit:
        LOG.warning(
            "snapshot not deleted: stack=%(stack)s snapshot=%(snapshot)s error=%(error)s",
            {"stack": saved.stack_id, "snapshot": saved.id, "error": reason},
        )
    deleting = stack is None or stack.action is Action.DELETE
    if tries >= settings.retry_limit and not deleting:
        ended = {"status": Status.FAILED, "delete_at": None}
        return {**ended, "status_reason": reason, "tries": tries}
    pause = timedelta(seconds=settings.backoff_s(saved.tries))
    return {"status_reason": reason, "tries": tries, "delete_at": now + pause}
