"""A server of a cluster as a process of the test: started, stopped, frozen and killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 60


class NodeProcess:
    """One server in a process group of its own, with its output in a file."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the server with a low priority, for others use the machine, too."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["nice", *command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    def is_running(self) -> bool:
        """Return whether the process exists."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the group."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End the server at once, also a frozen one."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """Wait for the end of the server."""
        if self._process is not None:
            self._process.wait(STOP_TIMEOUT_S)

    def log_tail(self) -> str:
        """Return the last 30 lines of the output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])
