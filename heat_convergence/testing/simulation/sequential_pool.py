"""Calls one after the other, recorded in groups, as a pool of threads would.

Used by the simulator's engines; the order of the groups is the order of the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job


class SequentialPool:
    """``engine.pool.JobPool`` that records after every ``group_size`` calls."""

    def __init__(self, group_size: int) -> None:
        self._group_size = group_size

    def run(
        self, perform: Callable[[Job], Outcome], jobs: Sequence[Job]
    ) -> Iterator[list[Outcome]]:
        for at in range(0, len(jobs), self._group_size):
            yield [perform(job) for job in jobs[at : at + self._group_size]]
