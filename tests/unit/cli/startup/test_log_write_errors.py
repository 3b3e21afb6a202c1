"""A log file on a full disk: one line on standard error in a minute, and the process goes on."""

from __future__ import annotations

import logging

import pytest

from heat_convergence.cli.log_write_errors import LogWriteErrors


class StoppedClock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def record() -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, __file__, 1, "text", (), None)


def test_full_disk_is_named_once_in_a_minute(capfd: pytest.CaptureFixture[str]) -> None:
    clock = StoppedClock()
    handler = logging.FileHandler("/dev/full")
    LogWriteErrors("heat-convergence-engine", clock).watch(handler)
    for _ in range(3):
        handler.handle(record())
    clock.now_s = 60.0
    handler.handle(record())
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        f"heat-convergence-engine: {count} lines of the log were lost, since /dev/full cannot be"
        " written: No space left on device; free space, and the log goes on"
        for count in (1, 4)
    ]


def test_defect_of_a_line_is_reported_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler()
    LogWriteErrors("p").watch(handler)
    handler.handle(logging.LogRecord("x", logging.INFO, __file__, 1, "%d", ("a",), None))
    assert "--- Logging error ---" in capfd.readouterr().err
