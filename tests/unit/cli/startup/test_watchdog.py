"""The watchdog of systemd: which workers' silence makes a daemon silent."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.cli.watchdog import Watchdog, systemd_watchdog

PERIOD_S = 80.0


@pytest.fixture
def parent() -> Any:
    """A parent's watchdog with its clock and its messages."""
    clock = SimpleNamespace(now_s=1000.0)
    sent: list[str] = []
    return SimpleNamespace(
        clock=clock, sent=sent, watchdog=Watchdog(PERIOD_S, sent.append, lambda: clock.now_s)
    )


@pytest.fixture
def run_worker() -> Iterator[Callable[[Callable[[], None]], int]]:
    """Run a function in a forked worker, which then lives until the test has ended."""
    started = []

    def run(work: Callable[[], None]) -> int:
        done = get_context("fork").Event()

        def child() -> None:
            work()
            done.set()
            signal.pause()

        worker = get_context("fork").Process(target=child)
        worker.start()
        started.append(worker)
        assert done.wait(30)
        assert worker.pid is not None
        return worker.pid

    yield run
    for worker in started:
        worker.kill()
        worker.join()


def test_daemon_is_silent_before_a_worker_has_answered(parent: Any) -> None:
    parent.watchdog.check()
    assert parent.sent == []


def test_daemon_with_answering_workers_notifies_systemd(parent: Any, run_worker: Any) -> None:
    for _ in range(2):
        run_worker(parent.watchdog.pulse)
    parent.clock.now_s += PERIOD_S / 4
    parent.watchdog.check()
    assert parent.sent == ["WATCHDOG=1"]


def test_one_silent_worker_makes_the_daemon_silent(
    parent: Any, run_worker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    silent = run_worker(parent.watchdog.pulse)
    parent.clock.now_s += PERIOD_S
    run_worker(parent.watchdog.pulse)
    parent.watchdog.check()
    assert parent.sent == []
    assert f"workers do not answer: processes=[{silent}]" in caplog.text


def test_worker_that_hangs_while_it_starts_is_named(
    parent: Any, run_worker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    silent = run_worker(parent.watchdog.start_pulse)
    parent.clock.now_s += PERIOD_S
    run_worker(parent.watchdog.pulse)
    parent.watchdog.check()
    assert parent.sent == []
    assert f"workers do not answer: processes=[{silent}]" in caplog.text


def test_killed_worker_is_left_to_the_launcher(parent: Any, run_worker: Any) -> None:
    killed = run_worker(parent.watchdog.pulse)
    os.kill(killed, signal.SIGKILL)
    os.waitpid(killed, 0)
    parent.clock.now_s += PERIOD_S
    run_worker(parent.watchdog.pulse)
    parent.watchdog.check()
    assert parent.sent == ["WATCHDOG=1"]


def test_ended_worker_is_forgotten(parent: Any, run_worker: Any) -> None:
    def end() -> None:
        parent.watchdog.pulse()
        parent.watchdog.stop_pulse()

    run_worker(end)
    parent.clock.now_s += PERIOD_S
    run_worker(parent.watchdog.pulse)
    parent.watchdog.check()
    assert parent.sent == ["WATCHDOG=1"]


@pytest.mark.parametrize("prefix", ["", "@"])
def test_message_reaches_the_socket_of_systemd(prefix: str, tmp_path: Path) -> None:
    name = f"@hc-{os.getpid()}" if prefix else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name.replace("@", "\0", 1) if prefix else name)
        watchdog = systemd_watchdog({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "120000000"})
        watchdog.pulse()
        watchdog.check()
        assert systemd.recv(100) == b"WATCHDOG=1"


def test_lost_message_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = str(tmp_path / "missing")
    watchdog = systemd_watchdog({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "120000000"})
    watchdog.pulse()
    watchdog.check()
    assert "watchdog not notified" in caplog.text


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"NOTIFY_SOCKET": "/run/notify"},
        {"WATCHDOG_USEC": "1000"},
        {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "often"},
        {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ],
)
def test_nothing_runs_without_a_watchdog(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr("threading.Thread", refuse)
    watchdog = systemd_watchdog(environ)
    watchdog.start()
    watchdog.start_pulse()
