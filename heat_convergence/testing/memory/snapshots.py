"""Users' snapshots in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.ports.snapshots import SnapshotColumns, SnapshotRepository
from heat_convergence.testing.memory.tables import MemoryRepository
from heat_convergence.testing.memory.values import as_stored


class MemorySnapshotRepository(MemoryRepository, SnapshotRepository):
    """Snapshots in a dictionary."""

    def insert(self, snapshot: Snapshot) -> None:
        """Insert a row."""
        self._tables.snapshots[snapshot.id] = snapshot

    def get(self, stack_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot; None if the stack has none of that id."""
        found = self._tables.snapshots.get(snapshot_id)
        return found if found is not None and found.stack_id == stack_id else None

    def count(self, stack_id: str) -> int:
        """Return how many snapshots the stack has."""
        return len(self._tables.snapshots_of_stack(stack_id))

    def finish(self, stack_id: str, version: int, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns of the snapshot that this traversal takes."""
        for snapshot in self._tables.snapshots_of_stack(stack_id):
            if snapshot.version == version:
                self.update(snapshot.id, **values)

    def update(self, snapshot_id: str, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns."""
        snapshot = self._tables.snapshots.get(snapshot_id)
        if snapshot is not None:
            self._tables.snapshots[snapshot_id] = replace(snapshot, **as_stored({**values}))

    def delete(self, snapshot_id: str) -> None:
        """Delete the row."""
        self._tables.snapshots.pop(snapshot_id, None)

    def schedule_deletion(self, stack_ids: Collection[str], now: datetime) -> None:
        """Make all snapshots of the stacks DELETE IN_PROGRESS and due at ``now``."""
        deleting: SnapshotColumns = {
            "action": Action.DELETE,
            "status": Status.IN_PROGRESS,
            "delete_at": now,
            "tries": 0,
        }
        for stack_id in stack_ids:
            for snapshot in self._tables.snapshots_of_stack(stack_id):
                self.update(snapshot.id, **deleting)

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete all snapshots of the stack."""
        for snapshot in self._tables.snapshots_of_stack(stack_id):
            self.delete(snapshot.id)
