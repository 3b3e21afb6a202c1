"""The observations under way, each of which may take long without delaying a pass.

Called by ``observer``: a pass starts observations and goes on; their results are recorded by
the next pass. Observations of one group are not started again while they are under way. Must
not touch any row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Protocol

from heat_convergence.common.fair_executor import FairExecutor, SlotGroups
from heat_convergence.common.time_limit import time_limit


class PollPool(Protocol):
    """Runs observations."""

    def start(self, groups: SlotGroups, work: Callable[[], None]) -> None:
        """Run work now or later; ``groups`` share the pool's threads fairly."""
        ...


class InlinePollPool:
    """A pool that runs observations in place, for tests."""

    def start(self, groups: SlotGroups, work: Callable[[], None]) -> None:
        """Run the work at once."""
        work()


class ConcurrentPollPool:
    """A pool of threads, green or native."""

    def __init__(self, executor: FairExecutor) -> None:
        self._executor = executor

    def start(self, groups: SlotGroups, work: Callable[[], None]) -> None:
        """Run the work in a thread as soon as its groups get one."""
        self._executor.submit(groups, work)


class PollsInProgress:
    """The observations that one observer has started.

    Args:
        pool: Runs the observations.
        limit_s: Seconds that the requests of one observation may take.
    """

    def __init__(self, pool: PollPool, limit_s: float) -> None:
        self._pool = pool
        self._limit_s = limit_s
        self._keys: set[Hashable] = set()
        self._guard = threading.Lock()

    def start(
        self,
        key: Hashable,
        groups: SlotGroups,
        work: Callable[[], None],
        then: Callable[[], None] = lambda: None,
    ) -> bool:
        """Start the work, unless work with the same key is under way.

        Args:
            key: Work with the same key waits until this has ended.
            groups: The groups that share the pool's threads.
            work: The observations.
            then: Called when work with the same key can be started again.

        Returns:
            Whether it was started.
        """
        with self._guard:
            if key in self._keys:
                return False
            self._keys.add(key)

        def limited() -> None:
            try:
                with time_limit(self._limit_s):
                    work()
            finally:
                with self._guard:
                    self._keys.discard(key)
                then()

        self._pool.start(groups, limited)
        return True
