"""The daemon's side of the process that forks workers.

Used by ``expression_sandbox``.  Starts that process, starts it again if it has ended, and
has it fork and end workers.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass

from heat_convergence.sandbox.fork_commands import ANSWER, COMMAND, END, FORK

_MODULE = "heat_convergence.sandbox.fork_server"
_ANSWER_TIMEOUT_S = 20.0  # for the first answer, which comes when everything is imported
_PASSED_VARIABLES = ("PATH", "LANG", "VIRTUAL_ENV")


@dataclass(slots=True)
class ExpressionProcess:
    """A process that evaluates expressions, and the socket that leads to it."""

    process_id: int
    connection: socket.socket
    server: subprocess.Popen[bytes]


class ForkServerClient:
    """Starts and ends workers by means of one other process."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._guard = threading.Lock()

    def start(self) -> None:
        """Start the process without waiting for it."""
        with self._guard:
            self._start()

    def fork(self) -> ExpressionProcess:
        """Return a new worker.

        Raises:
            OSError: The process cannot be started, or does not answer.
        """
        with self._guard:
            try:
                return self._fork()
            except (OSError, EOFError):  # it has ended: by another's hand, or for want of memory
                self._stop()
                return self._fork()

    def end(self, worker: ExpressionProcess) -> int:
        """End a worker; return the signal that it had ended with before, or SIGKILL."""
        worker.connection.close()
        with self._guard:
            if worker.server is not self._process:
                return 0  # its parent was replaced: it ends as its connection is closed
            try:
                return self._command(END, worker.process_id)
            except (OSError, EOFError):
                self._stop()
                return 0

    def close(self) -> None:
        """End the process; its workers end when their connections are closed."""
        with self._guard:
            self._stop()

    def _fork(self) -> ExpressionProcess:
        process = self._start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return ExpressionProcess(self._command(FORK, 0, theirs), ours, process)
            except (OSError, EOFError):
                ours.close()
                raise

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._stop()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_ANSWER_TIMEOUT_S)
        with theirs:
            self._process = subprocess.Popen(  # nosec B603  # this package
                [sys.executable, "-m", _MODULE, str(self._memory_bytes)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,  # a terminal's interrupt is for the daemon
            )
        return self._process

    def _command(
        self, command: bytes, process_id: int, connection: socket.socket | None = None
    ) -> int:
        """Send a command and return the number that answers it."""
        control = self._control
        if control is None:
            raise EOFError
        descriptors = [] if connection is None else [connection.fileno()]
        socket.send_fds(control, [COMMAND.pack(command, process_id)], descriptors)
        answer = b""
        while len(answer) < ANSWER.size:
            part = control.recv(ANSWER.size - len(answer))
            if not part:
                raise EOFError
            answer += part
        return int(ANSWER.unpack(answer)[0])

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


def _environment() -> dict[str, str]:
    """Return the variables that the processes need: none that may hold a secret."""
    passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    return {**passed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
