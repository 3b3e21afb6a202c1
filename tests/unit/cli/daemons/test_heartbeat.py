"""The entry of a worker in the list of services: its interval, its removal, failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.config import package_version
from heat_convergence.cli.daemons.heartbeat import Heartbeat
from heat_convergence.clients.circuit_breaker import CircuitBreakers, CircuitSettings, Endpoint
from heat_convergence.common.clock import utc_now
from heat_convergence.common.failures import TemporaryFailure, Unavailable
from heat_convergence.testing.memory.store import MemoryStore

NOVA = Endpoint("compute")


class StoppableClock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def heartbeat_of(
    store: object, clock: StoppableClock, breakers: CircuitBreakers | None = None
) -> Heartbeat:
    conf = SimpleNamespace(host="h", periodic_interval=60)
    clouds = None if breakers is None else SimpleNamespace(breakers=breakers)
    components = SimpleNamespace(store=store, conf=conf, clock=utc_now, cloud_cache=clouds)
    return Heartbeat(
        cast("ProcessComponents", components), "heat-convergence-api", "api", "w", monotonic=clock
    )


def test_heartbeat_is_written_once_in_an_interval(store: MemoryStore) -> None:
    clock = StoppableClock()
    heartbeat = heartbeat_of(store, clock)
    heartbeat.write_if_due()
    (first,) = store.tables.services.values()
    assert (first.binary, first.topic, first.version) == (
        "heat-convergence-api",
        "api",
        package_version(),
    )
    store.tables.services.clear()
    clock.now_s = 59.0
    heartbeat.write_if_due()
    assert not store.tables.services
    clock.now_s = 60.0
    heartbeat.write_if_due()
    assert set(store.tables.services) == {"w"}
    heartbeat.remove()
    assert not store.tables.services


def test_circuit_that_opens_or_closes_is_reported_at_once(store: MemoryStore) -> None:
    clock = StoppableClock()
    breakers = CircuitBreakers(CircuitSettings(failures=1), clock)
    heartbeat = heartbeat_of(store, clock, breakers)

    def reported() -> list[str]:
        heartbeat.write_if_due()
        states = store.tables.services["w"].endpoint_states or {}
        return [each["service"] for each in states["open"]]

    assert reported() == []
    breakers.record_failure(NOVA, TemporaryFailure("down"))
    clock.now_s = 5.0
    assert reported() == ["compute"]
    written = store.tables.services["w"]
    clock.now_s = 10.0
    assert reported() == ["compute"]
    assert store.tables.services["w"] is written
    breakers.record_success(NOVA)
    assert reported() == []


def test_failed_heartbeat_is_tried_again_and_removal_does_not_raise() -> None:
    class FailingWorkers:
        calls = 0

        def record_heartbeat(self, *_arguments: object) -> None:
            self.calls += 1
            raise Unavailable("no database")

        def remove_worker(self, _worker_id: str) -> None:
            raise Unavailable("no database")

    workers = FailingWorkers()
    heartbeat = heartbeat_of(SimpleNamespace(workers=workers), StoppableClock())
    for _ in range(2):
        with pytest.raises(Unavailable):
            heartbeat.write_if_due()
    assert workers.calls == 2
    heartbeat.remove()
