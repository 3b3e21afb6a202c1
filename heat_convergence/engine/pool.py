"""Pools that run the calls of one message's jobs.

Types without I/O run in place; the others run beside each other in an executor, green
or native, that ``cli`` chooses.  Must not touch any row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from typing import Protocol

from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job

ExecuteJob = Callable[[Job], Outcome]


class JobPool(Protocol):
    """A pool that executes the jobs of one message."""

    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
        """Yield the outcomes in groups as they arrive; one group is recorded at a time."""
        ...


class InlineJobPool:
    """A pool that executes jobs one by one: for tests, the simulator, and types without I/O."""

    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of all jobs as one group."""
        yield [execute(job) for job in jobs]


class ConcurrentJobPool:
    """A pool that executes jobs concurrently on a ``concurrent.futures`` executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of local jobs first, then the others as they finish."""
        local = [job for job in jobs if job.resource_type is None or job.resource_type.local]
        remote = [
            job for job in jobs if job.resource_type is not None and not job.resource_type.local
        ]
        running = {self._executor.submit(execute, job) for job in remote}
        if local:
            yield [execute(job) for job in local]
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield [future.result() for future in done]
