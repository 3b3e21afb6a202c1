"""The port to the rows of users' snapshots."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from heat_convergence.convergence.model.snapshot import Snapshot


class SnapshotRepository(Protocol):
    """Rows of snapshots of stacks."""

    def insert(self, snapshot: Snapshot) -> None:
        """Insert a row."""

    def get(self, stack_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot; None if the stack has none of that id."""

    def count(self, stack_id: str) -> int:
        """Return how many snapshots the stack has."""

    def finish(self, stack_id: str, version: int, **values: Any) -> None:
        """Set columns of the snapshot that this traversal takes; see ``update``."""

    def update(self, snapshot_id: str, **values: Any) -> None:
        """Set columns; ``data`` must come with ``sensitive``, which decides on encryption."""

    def delete(self, snapshot_id: str) -> None:
        """Delete the row; what resources saved stays."""

    def schedule_deletion(self, stack_id: str, now: datetime) -> None:
        """Make all snapshots of the stack DELETE IN_PROGRESS and due at ``now``."""

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete all snapshots of the stack; what resources saved stays."""
