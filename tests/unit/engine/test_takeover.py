"""Takeover of the jobs of worker processes that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from heat_convergence.common.failures import ConcurrentTransaction, JobTakeoversExceeded
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.engine.claiming.prepared_jobs import reject_poisoned
from heat_convergence.engine.takeover import take_over_jobs
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

SETTINGS = ConvergenceSettings(sweep_limit=50, batch_size=25)


class RecordingBus:
    """A bus that keeps the messages to engines."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int, tuple[str, ...]]] = []

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        self.messages += [(each.stack_id, each.version, each.resource_ids) for each in hints]

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        raise AssertionError("nothing is observed here")


@pytest.fixture
def services() -> DaemonServices:
    return DaemonServices(
        store=MemoryStore(),
        bus=RecordingBus(),
        registry=ResourceTypeRegistry.from_types(),
        clock=lambda: time_at(10),
        ids=lambda: "id",
        settings=SETTINGS,
        wait=lambda seconds: None,
    )


def insert(services: DaemonServices, count: int, **values: Any) -> None:
    with services.store.transaction() as tx:
        tx.stacks.insert(stack_row())
        rows = [resource_row(f"r{number:05}", **values) for number in range(count)]
        tx.resources.insert(rows)


def leased(expires_s: float = 20) -> dict[str, Any]:
    lease = {"lease_owner": "ended", "lease_token": "t", "lease_expires_at": time_at(expires_s)}
    return {"job_state": JobState.RUNNING, "posted_at": time_at(9), **lease}


def sent(services: DaemonServices) -> list[str]:
    return [row_id for _stack, _version, ids in services.bus.messages for row_id in ids]


def test_jobs_are_posted_before_their_leases_expire(services: DaemonServices) -> None:
    insert(services, 120, **leased())
    assert take_over_jobs(services, ["ended"]) == 120
    assert sent(services) == [f"r{number:05}" for number in range(120)]
    assert max(len(ids) for _stack, _version, ids in services.bus.messages) == 25


def test_jobs_of_other_workers_stay_where_they_are(services: DaemonServices) -> None:
    insert(services, 3, **leased())
    assert take_over_jobs(services, ["another"]) == 0
    assert sent(services) == []


def test_messages_that_the_worker_had_taken_off_the_bus_are_repeated(
    services: DaemonServices,
) -> None:
    insert(services, 60, job_state=JobState.POSTED, posted_at=time_at(9.5))
    assert take_over_jobs(services, ["ended"]) == 60
    assert len(sent(services)) == 60


def test_message_that_cannot_be_sent_ends_no_other_takeover(
    services: DaemonServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(services, 120, **leased())
    converge, failed = services.bus.converge, []

    def fail_once(*arguments: Any) -> None:
        if not failed:
            failed.append(arguments)
            raise KeyError("planted")
        converge(*arguments)

    monkeypatch.setattr(services.bus, "converge", fail_once)
    assert take_over_jobs(services, ["ended"]) == 120
    assert len(sent(services)) == 120 - SETTINGS.batch_size


def test_aborted_transaction_is_repeated(
    services: DaemonServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(services, 2, **leased())
    take, aborted = services.store.workers.take_jobs_of_ended, []

    def abort_once(*arguments: Any) -> Any:
        if not aborted:
            aborted.append(True)
            raise ConcurrentTransaction("another one has committed")
        return take(*arguments)

    monkeypatch.setattr(
        type(services.store.workers), "take_jobs_of_ended", lambda _, *a: abort_once(*a)
    )
    assert take_over_jobs(services, ["ended"]) == 2


def test_ends_of_workers_that_prepared_a_job_reject_it(services: DaemonServices) -> None:
    """A job without a lease that ends its worker is not evaluated again and again."""
    insert(services, 1, job_state=JobState.POSTED, posted_at=time_at(9.5))
    with services.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, [Edge("r00000", None)])
    for _ in range(SETTINGS.max_job_takeovers + 1):
        take_over_jobs(services, ["ended"], [(1, ("r00000", "of-another-stack"))])
    with services.store.read() as tx:
        found = tx.leases.get_unblocked({"stack-1": ["r00000"]})
    rows = found.rows
    (job,) = reject_poisoned(rows, found.takeovers, SETTINGS.max_job_takeovers)
    assert isinstance(job.error, JobTakeoversExceeded)
    assert "4 workers ended while they ran the job" in str(job.error)
    assert reject_poisoned(rows, {"r00000": 3}, SETTINGS.max_job_takeovers) == []
