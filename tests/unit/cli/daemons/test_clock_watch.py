"""A clock that jumps is named once, with the seconds; one that runs is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.cli.clock_watch import ClockWatch

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clocks:
    """A wall clock and a monotonic one."""

    passed_s = 0.0
    jumped_s = 0.0

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.passed_s + self.jumped_s)

    def monotonic(self) -> float:
        return 5000.0 + self.passed_s


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0, 2.5, -2.5])
def test_jump_is_logged_once(jump_s: float, caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks.wall, clocks.monotonic)
    clocks.passed_s, clocks.jumped_s = 3.0, jump_s
    watch.check()
    clocks.passed_s = 6.0
    watch.check()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"clock jumped: by_s={jump_s:.1f}" in record.getMessage()


def test_stalled_process_is_no_jump(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()

    def stalling_clock() -> datetime:
        time = clocks.wall()
        clocks.passed_s += stall_s
        return time

    stall_s = 0.0
    watch = ClockWatch(stalling_clock, clocks.monotonic)
    stall_s = 5.0
    watch.check()
    stall_s = 0.0
    watch.check()
    assert caplog.records == []


def test_time_that_passes_and_a_slewed_clock_are_no_jump(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks.wall, clocks.monotonic)
    for number in range(100):
        clocks.passed_s, clocks.jumped_s = number * 30.0, number * 0.5
        watch.check()
    assert caplog.records == []
