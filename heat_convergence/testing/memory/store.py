"""The in-memory store: the ports of ``convergence.ports`` on dictionaries.

The obviously correct twin of ``db.store``: every method is a loop over all rows.  Used
by the simulator and by unit tests; the contract tests hold both stores to the same
results.  It must not be cleverer than its reader.
"""

from __future__ import annotations

from heat_convergence.testing.memory.drift.repair_repository import MemoryRepairRepository
from heat_convergence.testing.memory.drift.watch_repository import MemoryWatchRepository
from heat_convergence.testing.memory.sweeps import MemorySweepRepository, MemoryWorkerRepository
from heat_convergence.testing.memory.transaction import MemorySession


class MemoryStore(MemorySession):
    """``convergence.ports.store.Store`` on dictionaries, one transaction at a time."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.sweeps = MemorySweepRepository(self)
        self.workers = MemoryWorkerRepository(self)
        self.watch = MemoryWatchRepository(self)
        self.repairs = MemoryRepairRepository(self)
