"""Transactions of the in-memory store: one at a time, undone on an exception."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from heat_convergence.common.evaluation.evaluation_guard import (
    holding_locks,
    reject_evaluation_under_locks,
)
from heat_convergence.testing.memory.events import MemoryEventRepository
from heat_convergence.testing.memory.goals import MemoryContentRepository, MemoryGoalRepository
from heat_convergence.testing.memory.graph import MemoryGraphRepository
from heat_convergence.testing.memory.jobs import MemoryJobRepository
from heat_convergence.testing.memory.leases import MemoryLeaseRepository
from heat_convergence.testing.memory.plans.repository import MemoryPlanRepository
from heat_convergence.testing.memory.quarantine.repository import MemoryQuarantineRepository
from heat_convergence.testing.memory.readiness import MemoryReadinessRepository
from heat_convergence.testing.memory.resources import (
    MemoryIncarnationRepository,
    MemoryResourceRepository,
)
from heat_convergence.testing.memory.snapshots import MemorySnapshotRepository
from heat_convergence.testing.memory.stacks import MemoryStackRepository
from heat_convergence.testing.memory.tables import MemoryTables
from heat_convergence.testing.memory.tree import MemoryTreeRepository


class MemoryTransaction:
    """The repositories of ``convergence.ports.store.Transaction`` on dictionaries."""

    def __init__(self, tables: MemoryTables) -> None:
        """Use ``tables``."""
        self.stacks = MemoryStackRepository(tables)
        self.goals = MemoryGoalRepository(tables)
        self.contents = MemoryContentRepository(tables)
        self.snapshots = MemorySnapshotRepository(tables)
        self.plans = MemoryPlanRepository(tables)
        self.tree = MemoryTreeRepository(tables)
        self.resources = MemoryResourceRepository(tables)
        self.incarnations = MemoryIncarnationRepository(tables)
        self.leases = MemoryLeaseRepository(tables)
        self.jobs = MemoryJobRepository(tables)
        self.graph = MemoryGraphRepository(tables)
        self.readiness = MemoryReadinessRepository(tables)
        self.events = MemoryEventRepository(tables)
        self.quarantine = MemoryQuarantineRepository(tables)


class MemorySession:
    """The tables, and the lock under which a transaction changes them."""

    def __init__(self) -> None:
        """Start with empty tables, and reject evaluation inside transactions."""
        reject_evaluation_under_locks()
        self.tables = MemoryTables()
        self._transaction = MemoryTransaction(self.tables)
        self._guard = threading.Lock()
        self._inside: int | None = None

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        """Open a transaction; on an exception the tables become what they were before."""
        if self._inside == threading.get_ident():
            raise RuntimeError("a transaction must not be opened inside another")
        with self._guard:
            self._inside = threading.get_ident()
            self.tables.keep_changes()
            try:
                with holding_locks():
                    yield self._transaction
            except BaseException:
                self.tables.undo_changes()
                raise
            finally:
                self._inside = None

    @contextmanager
    def read(self) -> Iterator[MemoryTransaction]:
        """Open a transaction for reading; what it writes is lost."""
        if self._inside == threading.get_ident():
            raise RuntimeError("a transaction must not be opened inside another")
        with self._guard:
            self.tables.keep_changes()
            try:
                yield self._transaction
            finally:
                self.tables.undo_changes()
