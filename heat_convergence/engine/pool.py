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
    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
        """Outcomes in groups as they come; one group is recorded at a time."""
        ...


class InlineJobPool:
    """One after the other: tests, the simulator, and types without I/O."""

    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
        yield [execute(job) for job in jobs]


class ConcurrentJobPool:
    """Calls side by side on a ``concurrent.futures`` executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, execute: ExecuteJob, jobs: Sequence[Job]) -> Iterator[list[Outcome]]:
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
