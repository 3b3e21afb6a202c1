"""Circuits open after failures in a row, let probes through, and obey Retry-After."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from heat_convergence.clients import circuit_breaker
from heat_convergence.clients.circuit_breaker import (
    CircuitBreakers,
    CircuitSettings,
    Endpoint,
    FailureScope,
)
from heat_convergence.common import metrics
from heat_convergence.common.failures import CallRefused, TemporaryFailure

NOVA = Endpoint("compute", "north", "p1")
CINDER = Endpoint("block_storage", "north", "p1")
GLANCE = Endpoint("image", "north", "p1")
SETTINGS = CircuitSettings(failures=3, pause_s=5.0, max_pause_s=18.0)


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breakers(clock: Clock) -> CircuitBreakers:
    return CircuitBreakers(SETTINGS, clock)


def fail(
    breakers: CircuitBreakers,
    endpoint: Endpoint = NOVA,
    scope: FailureScope = FailureScope.ENDPOINT,
    retry_after_s: float | None = None,
) -> None:
    with breakers.attempt(endpoint) as attempt:
        attempt.fail(scope, TemporaryFailure("down", retry_after_s=retry_after_s))


def succeed(breakers: CircuitBreakers, endpoint: Endpoint = NOVA) -> None:
    with breakers.attempt(endpoint) as attempt:
        attempt.succeed()


def refusal_s(breakers: CircuitBreakers, endpoint: Endpoint = NOVA) -> float | None:
    """Return for how long a call is refused; None if it is let through."""
    try:
        breakers.check(endpoint)
    except CallRefused as error:
        return error.retry_after_s
    return None


def open_circuit(breakers: CircuitBreakers, endpoint: Endpoint = NOVA) -> None:
    for _ in range(SETTINGS.failures):
        fail(breakers, endpoint)


def test_circuit_opens_after_failures_in_a_row(breakers: CircuitBreakers) -> None:
    for _ in range(2):
        fail(breakers)
        fail(breakers)
        succeed(breakers)
    assert refusal_s(breakers) is None
    open_circuit(breakers)
    assert refusal_s(breakers) == SETTINGS.pause_s


def test_other_services_and_regions_are_called(breakers: CircuitBreakers) -> None:
    open_circuit(breakers)
    assert refusal_s(breakers, Endpoint("compute", "north", "p2")) is not None
    assert refusal_s(breakers, Endpoint("compute", "south", "p1")) is None
    assert refusal_s(breakers, Endpoint("network", "north", "p1")) is None


def test_failures_of_one_project_concern_no_other(breakers: CircuitBreakers) -> None:
    for _ in range(SETTINGS.failures):
        fail(breakers, scope=FailureScope.PROJECT)
    assert refusal_s(breakers) is not None
    assert refusal_s(breakers, Endpoint("compute", "north", "p2")) is None


def test_one_probe_at_a_time_closes_the_circuit(breakers: CircuitBreakers, clock: Clock) -> None:
    open_circuit(breakers)
    clock.now_s += SETTINGS.pause_s
    with breakers.attempt(NOVA) as probe:
        with pytest.raises(CallRefused), breakers.attempt(NOVA):
            pytest.fail("a second call is let through")
        probe.succeed()
    assert refusal_s(breakers) is None
    assert not breakers.is_open(NOVA.in_scope(FailureScope.ENDPOINT))


def test_failed_probes_double_the_pause_to_a_limit(
    breakers: CircuitBreakers, clock: Clock
) -> None:
    open_circuit(breakers)
    pauses = []
    for _ in range(4):
        clock.now_s += refusal_s(breakers) or 0.0
        fail(breakers)
        pauses.append(refusal_s(breakers))
    assert pauses == [10.0, 18.0, 18.0, 18.0]


def test_probe_without_outcome_leaves_the_probe_to_the_next_call(
    breakers: CircuitBreakers, clock: Clock
) -> None:
    open_circuit(breakers)
    clock.now_s += SETTINGS.pause_s
    with breakers.attempt(NOVA):
        assert refusal_s(breakers) == circuit_breaker.PROBE_WAIT_S
    assert refusal_s(breakers) is None


def test_calls_that_began_earlier_do_not_prolong_the_pause(breakers: CircuitBreakers) -> None:
    with breakers.attempt(NOVA) as early:
        open_circuit(breakers)
        early.fail(FailureScope.ENDPOINT, TemporaryFailure("no answer"))
    assert refusal_s(breakers) == SETTINGS.pause_s


def test_retry_after_opens_the_circuit_at_once(breakers: CircuitBreakers, clock: Clock) -> None:
    fail(breakers, scope=FailureScope.PROJECT, retry_after_s=40.0)
    assert refusal_s(breakers) == 40.0
    clock.now_s += 40.0
    succeed(breakers)
    assert refusal_s(breakers) is None


def test_opening_and_closing_are_logged_once(
    breakers: CircuitBreakers, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    open_circuit(breakers)
    for _ in range(2):
        clock.now_s += refusal_s(breakers) or 0.0
        fail(breakers)
    clock.now_s += refusal_s(breakers) or 0.0
    succeed(breakers)
    succeed(breakers)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "circuit opened",
        "circuit closed",
    ]
    assert "service=compute region=north project=all failures=3" in caplog.text


def test_refusal_does_not_show_requests_of_other_projects(breakers: CircuitBreakers) -> None:
    for _ in range(SETTINGS.failures):
        with breakers.attempt(NOVA) as attempt:
            attempt.fail(FailureScope.ENDPOINT, TemporaryFailure("GET /p1/servers/s1"))
    with pytest.raises(CallRefused) as caught:
        breakers.check(Endpoint("compute", "north", "p2"))
    assert "p1" not in str(caught.value)


def test_memory_is_bounded(breakers: CircuitBreakers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_breaker, "MAX_CIRCUITS", 10)
    for number in range(50):
        fail(breakers, Endpoint("compute", "", f"p{number}"), FailureScope.PROJECT)
    assert len(breakers._circuits) == 10


def test_open_circuit_that_is_dropped_counts_as_open_no_more(
    breakers: CircuitBreakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "MAX_CIRCUITS", 10)
    gauge = metrics.OPEN_CIRCUITS.labels("compute", "crowded")
    for number in range(50):
        endpoint = Endpoint("compute", "crowded", f"p{number}")
        fail(breakers, endpoint, FailureScope.PROJECT, retry_after_s=60.0)
    assert gauge._value.get() == 10


def test_threads_get_one_probe(breakers: CircuitBreakers, clock: Clock) -> None:
    open_circuit(breakers)
    clock.now_s += SETTINGS.pause_s
    threads, begin = 8, threading.Barrier(8)

    def call(_number: int) -> bool:
        begin.wait(10)
        try:
            with breakers.attempt(NOVA):
                begin.wait(10)
        except CallRefused:
            begin.wait(10)
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(call, range(threads))) == 1


def test_report_names_open_circuits_and_slow_services(
    breakers: CircuitBreakers, clock: Clock
) -> None:
    open_circuit(breakers)
    fail(breakers, CINDER)
    clock.now_s += 7
    with breakers.attempt(GLANCE):
        clock.now_s += 3
    report = breakers.report()
    assert report == {
        "open": [
            {
                "service": "compute",
                "region": "north",
                "project_id": "",
                "failures": SETTINGS.failures,
                "open_s": 10,
            }
        ],
        "slow": [
            {"service": "image", "region": "north", "calls": 1, "mean_s": 3.0, "project_id": ""}
        ],
    }
