"""Times of reads: groups of one list are read together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.convergence.drift.read_times import next_read_at

START = datetime(2026, 11, 24, tzinfo=UTC)
TIMES = [START + timedelta(seconds=each) for each in (0.0, 0.25, 14.999, 59.5, 61.0, 987_654.321)]
KEY = "compute/servers/detail"


def test_group_of_its_own_is_read_after_its_interval():
    assert next_read_at(START, 15.0) == START + timedelta(seconds=15)


@pytest.mark.parametrize("interval_s", [15.0, 30.0, 60.0])
@pytest.mark.parametrize("started_at", TIMES)
def test_shared_list_is_not_read_much_earlier_or_later(started_at, interval_s):
    pause_s = (next_read_at(started_at, interval_s, KEY) - started_at).total_seconds()
    assert 0.75 * interval_s - 0.001 <= pause_s < 1.75 * interval_s + 0.001


@pytest.mark.parametrize("second", TIMES)
@pytest.mark.parametrize("first", TIMES)
def test_groups_of_one_list_come_together(first, second):
    times = [next_read_at(each, 60.0, KEY) for each in (first, second)]
    assert ((times[0] - times[1]).total_seconds() / 60.0).is_integer()


@pytest.mark.parametrize("started_at", TIMES)
def test_slow_groups_are_read_when_fast_ones_are(started_at):
    at = next_read_at(started_at, 60.0, KEY)
    assert next_read_at(at - timedelta(seconds=15), 15.0, KEY) == at


@pytest.mark.parametrize("late_s", [0.0, 0.5, 5.0, 14.0])
def test_late_read_does_not_move_the_times(late_s):
    at = next_read_at(START, 60.0, KEY)
    late = at + timedelta(seconds=late_s)
    assert next_read_at(late, 60.0, KEY) == at + timedelta(seconds=60)


def test_lists_have_different_times_in_the_interval():
    keys = [f"network/{name}" for name in ("ports", "networks", "subnets", "routers", "trunks")]
    assert len({next_read_at(START, 60.0, key) for key in keys}) > 2
