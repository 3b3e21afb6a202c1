"""Evaluates YAQL expressions in child processes that can be killed.

Made by ``cli`` and carried by ``TemplateLimits.yaql_runner``, so that whatever evaluates a
template in a daemon uses it.  Decides how many children there are and when one is replaced;
the limits on time and memory are the kernel's, so they hold whatever an expression calls.
Must not be used across a fork: a child belongs to the process that started it.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass

from oslo_context.context import get_current

from heat_convergence.sandbox.frames import receive_frame, send_frame
from heat_convergence.sandbox.project_slots import ProjectSlots
from heat_convergence.template.limits import YaqlCall, YaqlResult

LOG = logging.getLogger(__name__)
_WORKER = "heat_convergence.sandbox.expression_worker"
_START_TIMEOUT_S = 20.0
_STARVATION_FACTOR = 10.0  # wall-clock time for a second of processor time on a busy machine
_MAX_ANSWER_BYTES = 1 << 27
_PASSED_VARIABLES = ("PATH", "LANG", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Limits on the number of a process's children and on the memory of each."""

    max_children: int = 2
    memory_bytes: int = 1 << 29


class ExpressionSandbox:
    """Runs expressions in a few child processes, one at a time in each.

    The project whose request or job is handled takes its turn: expressions of one project that
    take all of their time do not delay those of another.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._slots = ProjectSlots(settings.max_children)
        self._idle: list[_Child] = []
        self._owner_pid = os.getpid()
        self._guard = threading.Lock()

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the result of the expression, or the reason why there is none."""
        request = json.dumps(asdict(call)).encode()
        with self._slots.hold(_current_project()):
            child = self._take()
            try:
                result = child.ask(request, call.max_seconds)
            except (OSError, EOFError, ValueError) as error:
                child.kill()
                return _killed(call, error)
            except BaseException:
                child.kill()
                raise
            with self._guard:
                self._idle.append(child)
            return result

    def close(self) -> None:
        """End the children that have nothing to do."""
        with self._guard:
            children, self._idle = self._idle, []
        for child in children:
            child.kill()

    def _take(self) -> _Child:
        """Return a child that is alive: an idle one, or a new one."""
        with self._guard:
            if self._owner_pid != os.getpid():  # a fork has copied the parent's children
                self._owner_pid, self._idle = os.getpid(), []
            while self._idle:
                child = self._idle.pop()
                if child.is_alive:
                    return child
                child.kill()
        return _Child(self._settings.memory_bytes)


class _Child:
    """One child process and the socket that leads to it."""

    def __init__(self, memory_bytes: int) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # nosec B603  # this package
                [sys.executable, "-m", _WORKER, str(memory_bytes)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_child_environment(),
                start_new_session=True,  # a terminal's interrupt is for the daemon
            )
        self._answered = False

    @property
    def is_alive(self) -> bool:
        """False when the process has ended, for example for want of memory."""
        return self._process.poll() is None

    def ask(self, request: bytes, max_seconds: float) -> YaqlResult:
        """Return the answer; raises ``OSError``, ``EOFError`` or ``ValueError`` without one."""
        start_s = 0.0 if self._answered else _START_TIMEOUT_S
        self._connection.settimeout(max_seconds * _STARVATION_FACTOR + start_s)
        send_frame(self._connection, request)
        frame = receive_frame(self._connection, _MAX_ANSWER_BYTES)
        if frame is None:
            raise EOFError
        self._answered = True
        return YaqlResult(**json.loads(frame))

    def kill(self) -> None:
        """End the child at once and wait for it, so that no zombie is left."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _current_project() -> str | None:
    """Return the project of the request or the job, None for a command."""
    context = get_current()
    return None if context is None else context.project_id


def _child_environment() -> dict[str, str]:
    """Return the variables that a child needs: none that may hold a secret."""
    passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    return {**passed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _killed(call: YaqlCall, error: Exception) -> YaqlResult:
    """Return the answer for an expression whose child was ended."""
    LOG.warning(
        "expression exceeded its limits: max_seconds=%(max_seconds)s error_type=%(error_type)s",
        {"max_seconds": call.max_seconds, "error_type": type(error).__name__},
    )
    reason = f"it takes more than {call.max_seconds:g} s of processor time, or too much memory"
    return YaqlResult(None, error=reason, steps_left=0, seconds=call.max_seconds)
