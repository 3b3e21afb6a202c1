"""The sweep for lost jobs, and what follows the end of another observer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

SETTINGS = ConvergenceSettings(sweep_limit=50)


class SentJobs:
    """A bus that keeps the ids of the jobs sent to engines."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        self.ids += [row_id for hint in hints for row_id in hint.resource_ids]

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        raise AssertionError("an observer sends nothing to observers here")


def build(count: int, **values: Any) -> tuple[Observer, MemoryStore, SentJobs]:
    store, bus = MemoryStore(), SentJobs()
    with store.transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([resource_row(f"r{number:05}", **values) for number in range(count)])
    services = DaemonServices(
        store=store,
        bus=bus,
        registry=ResourceTypeRegistry.from_types(),
        clock=lambda: time_at(100),
        ids=lambda: "id",
        settings=SETTINGS,
        wait=lambda seconds: None,
    )
    return Observer(services, rebuild=lambda *arguments: None), store, bus


def test_one_sweep_finds_all_lost_jobs() -> None:
    observer, _store, bus = build(230, job_state=JobState.POSTED, posted_at=time_at(1))
    observer.tick()
    assert len(set(bus.ids)) == len(bus.ids) == 230


def test_sweep_searches_when_the_query_for_due_work_raises() -> None:
    observer, store, bus = build(3, job_state=JobState.POSTED, posted_at=time_at(1))
    raising = Mock(side_effect=RuntimeError("of a test"))
    store.sweeps.is_anything_due = raising  # type: ignore[method-assign]
    observer.tick()
    assert raising.called
    assert len(bus.ids) == 3


def test_sweep_searches_for_nothing_when_nothing_is_due() -> None:
    observer, store, bus = build(3, job_state=JobState.POSTED, posted_at=time_at(1))
    store.sweeps.is_anything_due = Mock(return_value=False)  # type: ignore[method-assign]
    observer.tick()
    assert bus.ids == []


@pytest.mark.parametrize("count", [3, 2 * SETTINGS.sweep_limit + 1])
def test_outcomes_that_an_ended_observer_may_have_read_are_polled_at_once(count: int) -> None:
    ready = {
        "job_state": JobState.AWAITING_OBSERVATION,
        "observed": ObservedState.READY,
        "observe_at": time_at(100 + SETTINGS.repost_after_s - 1),
    }
    observer, store, _bus = build(count, **ready)
    observer.tick()

    def unfinished() -> int:
        with store.transaction() as tx:
            rows = tx.resources.get([f"r{number:05}" for number in range(count)])
        return sum(row.job.verb is not None for row in rows)

    assert unfinished() == count
    observer.expect_lost_messages()
    for _ in range(1 + count // SETTINGS.sweep_limit):
        observer.tick()
    assert unfinished() == 0
