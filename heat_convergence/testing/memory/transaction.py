"""Transactions of the in-memory store: one at a time, undone on an exception."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

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

    def transaction(self) -> AbstractContextManager[MemoryTransaction]:
        """Open a transaction; on an exception the tables become what they were before."""
        return _Block(self, keeps_changes=True)

    def read(self) -> AbstractContextManager[MemoryTransaction]:
        """Open a transaction for reading; what it writes is lost."""
        return _Block(self, keeps_changes=False)

    def begin(self) -> MemoryTransaction:
        """Wait for the end of the last transaction, and begin one."""
        if self._inside == threading.get_ident():
            raise RuntimeError("a transaction must not be opened inside another")
        self._guard.acquire()
        self._inside = threading.get_ident()
        self.tables.keep_changes()
        return self._transaction

    def end(self, *, keeps_changes: bool) -> None:
        """End the transaction."""
        try:
            if not keeps_changes:
                self.tables.undo_changes()
        finally:
            self._inside = None
            self._guard.release()


class _Block(AbstractContextManager[MemoryTransaction]):
    """A transaction; a class, since simulations spend much of their time on generators."""

    __slots__ = ("_keeps_changes", "_locks", "_session")

    def __init__(self, session: MemorySession, *, keeps_changes: bool) -> None:
        self._session = session
        self._keeps_changes = keeps_changes
        self._locks = holding_locks() if keeps_changes else None

    def __enter__(self) -> MemoryTransaction:
        transaction = self._session.begin()
        if self._locks is not None:
            self._locks.__enter__()
        return transaction

    def __exit__(self, error_type: type[BaseException] | None, *_error: object) -> None:
        if self._locks is not None:
            self._locks.__exit__(None, None, None)
        self._session.end(keeps_changes=self._keeps_changes and error_type is None)
