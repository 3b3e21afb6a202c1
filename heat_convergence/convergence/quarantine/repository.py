"""The port to the quarantine, the list of resources that could not be deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from heat_convergence.convergence.quarantine.entry import QuarantineEntry


class QuarantineColumns(TypedDict, total=False):
    """Columns of an entry that callers may set."""

    physical_id: str | None
    reason: str
    tries: int
    next_at: datetime | None
    taken_until: datetime | None


class QuarantineRepository(Protocol):
    """Quarantined resources of all projects, by resource id."""

    def add(self, entries: Sequence[QuarantineEntry]) -> None:
        """Insert entries; those that exist already stay as they are."""

    def get(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Return those of the entries that exist, by id."""

    def lock(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Lock those of the entries that exist and return them, by id."""

    def list_by_project(
        self, project_id: str, limit: int | None = None, marker: str | None = None
    ) -> list[QuarantineEntry]:
        """Return a project's entries, by id, those after the marker."""

    def list_ids(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the stack's entries."""

    def list_ids_of_tree(self, root_id: str) -> frozenset[str]:
        """Return the ids of the entries of a tree of stacks."""

    def find_blockers(self, root_ids: Collection[str], ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are entries of the trees, or stacks that have some."""

    def take_due(self, now: datetime, until: datetime, limit: int) -> list[QuarantineEntry]:
        """Take entries whose ``next_at`` has come, and that nobody has taken; return them."""

    def activate(self, stack_id: str, next_at: datetime) -> None:
        """Have the deletions of a deleted stack's entries tried again from a time on."""

    def wake(self, root_id: str, now: datetime) -> None:
        """Make the entries of a tree due that wait for others and were never tried."""

    def update(self, ids: Collection[str], **values: Unpack[QuarantineColumns]) -> None:
        """Set the same values in all of the entries."""

    def delete(self, ids: Collection[str]) -> None:
        """Delete entries."""

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete the entries of a stack."""
