"""A job pool that performs calls one after the other and returns them in groups.

Used by the simulated engines in place of a pool of threads; groups come in the order
of the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.pool import LateCalls


class SequentialPool:
    """``engine.pool.JobPool`` that returns outcomes after every ``group_size`` calls."""

    def __init__(self, group_size: int) -> None:
        self._group_size = group_size

    def run(
        self, perform: Callable[[Job], Outcome], jobs: Sequence[Job], late: LateCalls
    ) -> Iterator[list[Outcome]]:
        """Perform the jobs in order; yield the outcomes of each group."""
        for start in range(0, len(jobs), self._group_size):
            yield [perform(job) for job in jobs[start : start + self._group_size]]
