"""The grid of times at which resources under way are observed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.convergence.lifecycle.readiness.poll_times import poll_time
from heat_convergence.resources.driver.poll_interval import list_interval_s

START = datetime(2026, 1, 1, tzinfo=UTC)


def seconds(at: datetime | None) -> float:
    assert at is not None
    return (at - START).total_seconds()


@pytest.mark.parametrize(
    ("now_s", "after_s", "grid_s", "expected_s"),
    [
        (10.0, 0.05, 1.0, 11.0),
        (10.4, 0.05, 1.0, 11.0),
        (10.95, 0.05, 1.0, 11.0),
        (10.97, 0.05, 1.0, 12.0),  # not twice at the turn of a second
        (10.4, 1.0, 1.0, 12.0),
        (10.4, 0.05, 4.0, 12.0),
        (10.4, 20.0, None, 30.4),
    ],
)
def test_times_are_those_of_the_grid(now_s, after_s, grid_s, expected_s):
    at = poll_time(START + timedelta(seconds=now_s), after_s, grid_s)
    assert seconds(at) == pytest.approx(expected_s, abs=1e-5)


def test_times_stay_the_same_however_long_the_reads_took():
    times = {poll_time(START + timedelta(seconds=7.0 + s / 10), 0.05, 1.0) for s in range(9)}
    assert times == {START + timedelta(seconds=8)}


def test_nothing_is_polled_that_waits_for_its_nested_stack():
    assert poll_time(START, None, 1.0) is None


@pytest.mark.parametrize(
    ("age_s", "busy", "calls", "expected_s"),
    [
        (0, 1, 1, 1.0),
        (599, 250, 1, 1.0),
        (600, 1, 1, 5.0),
        (1800, 1, 1, 15.0),
        (0, 251, 1, 2.0),
        (0, 10_000, 1, 15.0),
        (0, 3, 3, 3.0),
        (0, 9, 40, 15.0),
    ],
)
def test_interval_grows_with_the_size_and_the_calls_of_a_read(age_s, busy, calls, expected_s):
    now = START + timedelta(seconds=age_s)
    assert list_interval_s(START, now, busy=busy, calls=calls) == expected_s
