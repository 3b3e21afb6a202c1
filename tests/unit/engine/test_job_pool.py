"""Calls that are under way when the processing of their message ends early."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.fair_executor import FairExecutor
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.pool import ConcurrentJobPool

WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class SampleJob:
    name: str
    is_local: bool = False
    call_groups: tuple[str, ...] = ("service", "project")


@dataclass
class RecordedCalls:
    """Calls that end after their message."""

    expected: int = 0
    finished: list[list[Any]] = field(default_factory=list)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def expect(self) -> None:
        self.expected += 1

    def finish(self, outcomes: list[Outcome]) -> None:
        self.finished.append(outcomes)
        self.ended.release()


class HeldCalls:
    """Calls that go on until they are released."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.released = threading.Event()
        self.error: BaseException | None = None

    def execute(self, job: Job) -> Outcome:
        name = cast(SampleJob, job).name
        if not name.startswith("held"):
            assert self.started.wait(WAIT_S)
            return cast(Outcome, name)
        self.started.set()
        assert self.released.wait(WAIT_S)
        if self.error is not None:
            raise self.error
        return cast(Outcome, name)


@pytest.fixture
def calls() -> HeldCalls:
    return HeldCalls()


@pytest.fixture
def pool(calls: HeldCalls) -> Iterator[ConcurrentJobPool]:
    executor = FairExecutor(ThreadPoolExecutor(3), 3)
    yield ConcurrentJobPool(executor, 3, patience_s=WAIT_S)
    calls.released.set()
    executor.shutdown()


def record_nothing(
    pool: ConcurrentJobPool, calls: HeldCalls, late: RecordedCalls, *jobs: SampleJob
) -> None:
    """Run the jobs; the database is gone when the first outcomes are to be recorded."""
    for _outcomes in pool.run(calls.execute, cast(Any, jobs), late):
        raise Unavailable("the database is gone")


@pytest.mark.parametrize("first", [SampleJob("local", is_local=True), SampleJob("fast")])
def test_call_under_way_keeps_its_lease_when_others_cannot_be_recorded(
    pool: ConcurrentJobPool, calls: HeldCalls, first: SampleJob
) -> None:
    """Keep another worker from making the call a second time beside this one."""
    late = RecordedCalls()
    with pytest.raises(Unavailable):
        record_nothing(pool, calls, late, SampleJob("held"), first)
    assert (late.expected, late.finished) == (1, [])
    calls.released.set()
    assert late.ended.acquire(timeout=WAIT_S)
    assert late.finished == [["held"]]


def test_call_that_had_not_started_is_not_made(pool: ConcurrentJobPool, calls: HeldCalls) -> None:
    late, jobs = RecordedCalls(), [SampleJob(f"held {number}") for number in range(9)]
    with pytest.raises(Unavailable):
        record_nothing(pool, calls, late, *jobs, SampleJob("local", is_local=True))
    assert 0 < late.expected < len(jobs)


def test_late_call_without_an_outcome_ends_its_lease(
    pool: ConcurrentJobPool, calls: HeldCalls
) -> None:
    late, calls.error = RecordedCalls(), SystemExit()
    with pytest.raises(Unavailable):
        record_nothing(pool, calls, late, SampleJob("held"), SampleJob("local", is_local=True))
    calls.released.set()
    assert late.ended.acquire(timeout=WAIT_S)
    assert late.finished == [[]]
