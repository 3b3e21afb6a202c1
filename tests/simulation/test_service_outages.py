"""Services that hang, fail or request a pause, and a breaker that never opens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.simulation.environment import SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.service_outages import ServiceOutage
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

FAILING = "Sim::Immutable"
OUTAGE_S = 180.0
COUNT = 12  # resources of a stack
SETTINGS = ConvergenceSettings(retry_limit=1000, retry_backoff_max_s=2.0)
RED = "\n".join(f"r{number}: Immutable" for number in range(COUNT))
BLUE = "\n".join(f"r{number}: Resource" for number in range(COUNT))


@contextmanager
def simulation(seed: int = 3) -> Iterator[SimulatedEnvironment]:
    config = EnvironmentConfig(seed=seed, max_work_s=2.0, concurrent_polls=1, settings=SETTINGS)
    environment = SimulatedEnvironment(config, FaultInjector(seed=seed), MemoryStore())
    try:
        yield environment
    finally:
        environment.close()


def run_with_outage(outage: ServiceOutage) -> str | None:
    """Create stacks during an outage, end it, and return the violation that it shows."""
    with simulation() as environment:
        environment.outages.by_type[FAILING] = outage
        environment.submit_request(UserRequest("create", "red", RED))
        environment.submit_request(UserRequest("create", "blue", BLUE))
        environment.run_until(OUTAGE_S)
        statuses = environment.stack_statuses()
        assert statuses == {"red": "CREATE_IN_PROGRESS", "blue": "CREATE_COMPLETE"}
        violation = environment.outages.end(FAILING).find_violation()
        environment.settle(OUTAGE_S)
        assert environment.stack_statuses()["red"] == "CREATE_COMPLETE"
        return violation


def blue_ends_at(outage: ServiceOutage | None) -> float:
    """Return when the stack of another service is complete, in seconds."""
    with simulation() as environment:
        if outage is not None:
            environment.outages.by_type[FAILING] = outage
        environment.submit_request(UserRequest("create", "red", RED))
        environment.submit_request(UserRequest("create", "blue", BLUE))
        while environment.stack_statuses().get("blue") != "CREATE_COMPLETE":
            environment.run_next_event()
        return environment.event_queue.elapsed_s


def test_failing_service_is_called_rarely_and_recovers() -> None:
    outage = ServiceOutage()
    assert run_with_outage(outage) is None
    assert all(len(times) >= 6 for name, times in outage.call_times.items() if "engine" in name)


def test_breaker_that_never_opens_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CircuitBreakers, "record_failure", lambda *args, **kwargs: None)
    assert "times in a minute" in (run_with_outage(ServiceOutage()) or "")


def test_requested_pause_is_kept() -> None:
    outage = ServiceOutage(answer_s=0.0, retry_after_s=40.0)
    assert run_with_outage(outage) is None
    for times in outage.call_times.values():
        assert all(after - before >= 40.0 for before, after in pairwise(times))


def test_hanging_service_does_not_delay_others() -> None:
    hanging: Any = ServiceOutage(answer_s=60.0)
    assert blue_ends_at(hanging) <= blue_ends_at(None) + 3 * SETTINGS.sweep_interval_s
    assert hanging.call_times
