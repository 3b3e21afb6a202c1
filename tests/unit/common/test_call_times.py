"""Means of the durations of calls, by service and region, of the last minutes."""

from __future__ import annotations

import pytest

from heat_convergence.common.telemetry import call_times
from heat_convergence.common.telemetry.call_times import CallTimes, SlowEndpoint

NOVA, CINDER = ("compute", "north"), ("block_storage", "north")


def test_services_are_slow_by_the_mean_of_their_calls() -> None:
    times = CallTimes()
    for seconds in (1.0, 5.0):
        times.record(NOVA, seconds, 70.0)
    times.record(CINDER, 1.9, 70.0)
    assert list(times.find_slow(71.0)) == [SlowEndpoint("compute", "north", 2, 3.0)]
    for _ in range(4):
        times.record(NOVA, 0.1, 80.0)
    assert list(times.find_slow(81.0)) == []


def test_calls_count_until_the_end_of_the_next_minute() -> None:
    times = CallTimes()
    times.record(NOVA, 4.0, 10.0)
    assert [each.calls for each in times.find_slow(119.0)] == [1]
    assert list(times.find_slow(120.0)) == []
    times.record(NOVA, 2.0, 130.0)
    times.record(NOVA, 4.0, 190.0)
    assert list(times.find_slow(191.0)) == [SlowEndpoint("compute", "north", 2, 3.0)]


def test_number_of_endpoints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_times, "MAX_ENDPOINTS", 2)
    times = CallTimes()
    for region in "abc":
        times.record(("compute", region), 3.0, 1.0)
    assert [each.region for each in times.find_slow(1.0)] == ["b", "c"]
