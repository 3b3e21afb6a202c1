"""The watchdog of systemd with a real daemon, one of whose workers hangs."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import ENGINE, wait_until
from tests.integration.conftest import Deploy

PERIOD_S = 8


def workers_of(parent: int) -> list[int]:
    """Return the processes that a daemon has started itself."""
    threads = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for thread in threads for pid in thread.read_text().split()]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
def test_hanging_worker_makes_its_daemon_silent(
    concurrency: str,
    deploy: Deploy,
    mariadb_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", str(PERIOD_S * 1_000_000))
        engine = deploy(mariadb_url, concurrency=concurrency).add_daemon(ENGINE)

        def received() -> set[bytes]:
            messages = set()
            try:
                while True:
                    messages.add(systemd.recv(100))
            except BlockingIOError:
                return messages

        engine.start()
        wait_until(lambda: b"WATCHDOG=1" in received(), "the daemon says that it works")
        (worker,) = workers_of(engine.pid)
        os.kill(worker, signal.SIGSTOP)
        silent = f"workers do not answer: processes=[{worker}]"
        wait_until(lambda: engine.count_in_log(silent), "the silent worker is named")
        received()  # those sent before
        count = engine.count_in_log(silent)
        wait_until(lambda: engine.count_in_log(silent) > count + 2, "it is named again")
        assert received() == set()
        os.kill(worker, signal.SIGCONT)
        wait_until(lambda: b"WATCHDOG=1" in received(), "the daemon works again")
        assert engine.terminate() == 0
