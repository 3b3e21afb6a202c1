"""The quarantine in memory: every method is a loop over all entries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from heat_convergence.convergence.quarantine.entry import QuarantineEntry
from heat_convergence.convergence.quarantine.repository import (
    QuarantineColumns,
    QuarantineRepository,
)
from heat_convergence.testing.memory.tables import MemoryRepository


def is_due_for_retry(entry: QuarantineEntry, now: datetime) -> bool:
    """Return whether nobody tries to delete the quarantined resource, but should."""
    return (
        entry.next_at is not None
        and entry.next_at <= now
        and (entry.taken_until is None or entry.taken_until <= now)
    )


class MemoryQuarantineRepository(MemoryRepository, QuarantineRepository):
    """Quarantined resources in a dictionary."""

    def add(self, entries: Sequence[QuarantineEntry]) -> None:
        """Insert entries; those that exist already stay as they are."""
        for each in entries:
            self._tables.quarantine.setdefault(each.resource_id, each)

    def get(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Return those of the entries that exist, by id."""
        return [each for each in self._all() if each.resource_id in ids]

    def lock(self, ids: Collection[str]) -> list[QuarantineEntry]:
        """Return those of the entries that exist, by id; transactions do not overlap."""
        return self.get(ids)

    def list_by_project(
        self, project_id: str, limit: int | None = None, marker: str | None = None
    ) -> list[QuarantineEntry]:
        """Return a project's entries, by id, those after the marker."""
        of_project = [each for each in self._all() if each.project_id == project_id]
        return [each for each in of_project if each.resource_id > (marker or "")][:limit]

    def list_ids(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the stack's entries."""
        return frozenset(each.resource_id for each in self._all() if each.stack_id == stack_id)

    def list_ids_of_tree(self, root_id: str) -> frozenset[str]:
        """Return the ids of the entries of a tree of stacks."""
        return frozenset(each.resource_id for each in self._all() if each.root_id == root_id)

    def find_blockers(self, root_ids: Collection[str], ids: Collection[str]) -> frozenset[str]:
        """Return those of ``ids`` that are entries of the trees, or stacks that have some."""
        of_trees = [each for each in self._all() if each.root_id in root_ids]
        known = {key for each in of_trees for key in (each.resource_id, each.stack_id)}
        return frozenset(known.intersection(ids))

    def take_due(self, now: datetime, until: datetime, limit: int) -> list[QuarantineEntry]:
        """Take entries whose ``next_at`` has come, and that nobody has taken; return them."""
        due = [each for each in self._all() if is_due_for_retry(each, now)]
        found = sorted(due, key=lambda entry: entry.next_at or now)[:limit]
        self.update([each.resource_id for each in found], taken_until=until)
        return found

    def activate(self, stack_id: str, next_at: datetime) -> None:
        """Have the deletions of a deleted stack's entries tried again from a time on."""
        self.update(self.list_ids(stack_id), next_at=next_at)

    def wake(self, root_id: str, now: datetime) -> None:
        """Make the entries of a tree due that wait for others and were never tried."""
        for each in self._all():
            if each.root_id == root_id and not each.tries and each.next_at is not None:
                self.update([each.resource_id], next_at=now)

    def update(self, ids: Collection[str], **values: Unpack[QuarantineColumns]) -> None:
        """Set the same values in all of the entries."""
        for each in self.get(ids):
            self._tables.quarantine[each.resource_id] = replace(each, **values)

    def delete(self, ids: Collection[str]) -> None:
        """Delete entries."""
        for each in self.get(ids):
            del self._tables.quarantine[each.resource_id]

    def delete_by_stack(self, stack_id: str) -> None:
        """Delete the entries of a stack."""
        self.delete(self.list_ids(stack_id))

    def _all(self) -> list[QuarantineEntry]:
        return [self._tables.quarantine[key] for key in sorted(self._tables.quarantine)]
