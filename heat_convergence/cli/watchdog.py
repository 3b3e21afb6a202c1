"""The watchdog of systemd: a daemon says regularly that it works, or is ended and started anew.

Each worker writes its pulse into memory that it shares with the parent process. The parent passes
it on while every worker answers: a worker whose event loop hangs, or that is stopped, and a parent
that hangs make the daemon silent. A worker that waits for the database or the broker answers.
Without ``WatchdogSec`` nothing runs. Used by ``daemon_service``.

Source: sd_notify(3), sd_watchdog_enabled(3)
"""

from __future__ import annotations

import logging
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping

LOG = logging.getLogger(__name__)
_PULSE = struct.Struct("qd")  # the id of a process, and the time of its last pulse
_PULSES = 4_096  # a process has the place of its id: few processes never share one
_PULSES_PER_PERIOD = 8


class Watchdog:
    """The pulses of one daemon's workers; built by the parent before it forks.

    Args:
        period_s: Seconds after which systemd ends a silent daemon; 0 for no watchdog.
        notify: Function that sends a message to systemd.
        monotonic: Clock, the same in all processes.
    """

    def __init__(
        self,
        period_s: float = 0.0,
        notify: Callable[[str], None] = lambda _message: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._period_s = period_s
        self._notify = notify
        self._monotonic = monotonic
        self._shared = mmap.mmap(-1, _PULSES * _PULSE.size)
        self._stopped = threading.Event()

    # -- in a worker

    def start_pulse(self) -> None:
        """Say from now on that this worker answers."""
        if self._period_s:
            self._stopped = threading.Event()  # that of the parent belongs to another event loop
            self.pulse()  # so that one that hangs while it starts is named, too
            threading.Thread(target=self._run_pulse, name="pulse", daemon=True).start()

    def stop_pulse(self) -> None:
        """Say nothing more, since this worker ends."""
        self._stopped.set()
        self._write(os.getpid(), 0, 0.0)

    def pulse(self) -> None:
        """Say that this worker answers."""
        self._write(os.getpid(), os.getpid(), self._monotonic())

    def _run_pulse(self) -> None:
        stopped = self._stopped
        while not stopped.wait(self._period_s / _PULSES_PER_PERIOD):
            self.pulse()

    # -- in the parent

    def start(self) -> None:
        """Tell systemd from now on that this daemon works, while it does."""
        if self._period_s:
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def check(self) -> None:
        """Tell systemd that this daemon works, or log which workers do not answer."""
        alive = {pid: at_s for pid, at_s in self._read().items() if self._is_alive(pid)}
        limit_s = self._monotonic() - self._period_s / 2
        silent = sorted(pid for pid, at_s in alive.items() if at_s < limit_s)
        if silent:
            LOG.error("workers do not answer: processes=%(processes)s", {"processes": silent})
        elif alive:
            self._notify("WATCHDOG=1")

    def _watch(self) -> None:
        while True:
            time.sleep(self._period_s / _PULSES_PER_PERIOD)
            self.check()

    def _is_alive(self, pid: int) -> bool:
        """Return whether a worker runs, and forget one that was killed."""
        try:
            os.kill(pid, 0)
        except OSError:
            self._write(pid, 0, 0.0)
            return False
        return True

    def _read(self) -> Mapping[int, float]:
        return {pid: at_s for pid, at_s in _PULSE.iter_unpack(self._shared[:]) if pid}

    def _write(self, place: int, pid: int, at_s: float) -> None:
        _PULSE.pack_into(self._shared, place % _PULSES * _PULSE.size, pid, at_s)


def systemd_watchdog(environ: Mapping[str, str]) -> Watchdog:
    """Return the watchdog that systemd expects of this process, if it does.

    Args:
        environ: The environment, before the launcher has removed the socket's address from it.
    """
    address = environ.get("NOTIFY_SOCKET", "")
    period = environ.get("WATCHDOG_USEC", "")
    if not address or not period.isdecimal():
        return Watchdog()
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return Watchdog()
    return Watchdog(int(period) / 1e6, lambda message: _send(address, message))


def _send(address: str, message: str) -> None:
    """Send a message to systemd, which repeats itself when it is lost."""
    target = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(message.encode(), target)
    except OSError as error:
        LOG.warning("watchdog not notified: error=%(error)s", {"error": error})
