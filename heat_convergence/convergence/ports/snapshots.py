"""The port to the rows of users' snapshots."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.snapshot import Snapshot


class SnapshotColumns(TypedDict, total=False):
    """Columns of a snapshot that callers may set."""

    action: Action
    status: Status
    status_reason: str
    data: Mapping[str, Json] | None
    delete_at: datetime | None
    tries: int
    sensitive: bool


class SnapshotRepository(Protocol):
    """Rows of snapshots of stacks."""

    def insert(self, snapshot: Snapshot) -> None:
        """Insert a row."""

    def get(self, stack_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot; None if the stack has none of that id."""

    def count(self, stack_id: str) -> int:
        """Return how many snapshots the stack has."""

    def finish(self, stack_id: str, version: int, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns of the snapshot that this traversal takes; see ``update``."""

    def update(self, snapshot_id: str, **values: Unpack[SnapshotColumns]) -> None:
        """Set columns; ``data`` must come with ``sensitive``, which decides on encryption."""

    def delete(self, snapshot_id: str) -> None:
        """Delete the row; what resources saved stays."""

    def schedule_deletion(self, stack_ids: Collection[str], now: datetime) -> None:
        """Make all snapshots of the stacks DELETE IN_PROGRESS and due at ``now``."""

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete all snapshots of the stack; what resources saved stays."""
