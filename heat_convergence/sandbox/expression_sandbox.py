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
import signal
import threading
import time
from dataclasses import dataclass, fields, replace
from typing import Any

from oslo_context.context import get_current

from heat_convergence.common.project_slots import NoSlotInTime, ProjectSlots
from heat_convergence.common.strict_json import encode_json
from heat_convergence.sandbox.evaluation_errors import EvaluationUnavailable
from heat_convergence.sandbox.fork_server_client import ExpressionProcess, ForkServerClient
from heat_convergence.sandbox.frames import receive_frame, send_frame
from heat_convergence.sandbox.remembered_failures import RememberedFailures
from heat_convergence.template.limits import YaqlCall, YaqlResult

LOG = logging.getLogger(__name__)
_STARVATION_FACTOR = 10.0  # wall-clock time for a second of processor time on a busy machine
_ANSWER_ALLOWANCE_S = 0.25  # for an answer that was under way when its time ended
_MAX_ANSWER_BYTES = 1 << 27
_CALL_FIELDS = tuple(each.name for each in fields(YaqlCall))


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
        self._idle: list[ExpressionProcess] = []
        self._server = ForkServerClient(settings.memory_bytes)
        self._failures = RememberedFailures()
        self._owner_pid = os.getpid()
        self._guard = threading.Lock()

    def start(self) -> None:
        """Start what the first expression would have to wait for."""
        self._server.start()

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the result of the expression, or the reason why there is none.

        Raises:
            EvaluationUnavailable: The time by the clock has passed, not that of the processor,
                or no process can be started.
        """
        known = self._failures.find(call)
        if known is not None:
            return known
        started_s = time.monotonic()
        try:
            with self._slots.hold(_current_project(), call.max_wall_seconds):
                call = _with_wall_limit(call, time.monotonic() - started_s)
                result = self._run(call)
        except NoSlotInTime as error:
            raise EvaluationUnavailable(
                f"{call.max_wall_seconds:.1f} s were spent on the project's others"
            ) from error
        self._failures.add(call, result)
        return replace(result, wall_seconds=time.monotonic() - started_s)

    def close(self) -> None:
        """End the children."""
        with self._guard:
            workers, self._idle = self._idle, []
        for worker in workers:
            self._server.end(worker)
        self._server.close()

    def _run(self, call: YaqlCall) -> YaqlResult:
        try:
            worker = self._take()
        except (OSError, EOFError) as error:
            raise EvaluationUnavailable("no process can be started for it") from error
        try:
            result = _ask(worker, call)
        except TimeoutError as error:
            self._server.end(worker)
            raise _late(call) from error
        except (OSError, EOFError, ValueError):
            return _killed(call, self._server.end(worker))
        except BaseException:
            self._server.end(worker)
            raise
        with self._guard:
            self._idle.append(worker)
        return result

    def _take(self) -> ExpressionProcess:
        """Return a child that is alive: an idle one, or a new one."""
        with self._guard:
            if self._owner_pid != os.getpid():  # a fork has copied the parent's children
                self._owner_pid, self._idle = os.getpid(), []
                self._server = ForkServerClient(self._settings.memory_bytes)
            idle = self._idle.pop() if self._idle else None
        if idle is None:
            return self._server.fork()
        if not _has_ended(idle):
            return idle
        self._server.end(idle)
        return self._take()


def _has_ended(worker: ExpressionProcess) -> bool:
    """Return whether an idle child has ended; it sends nothing unless it is asked."""
    return worker.connection.fileno() < 0 or _is_readable(worker)


def _is_readable(worker: ExpressionProcess) -> bool:
    worker.connection.settimeout(0.0)
    try:
        worker.connection.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _with_wall_limit(call: YaqlCall, waited_s: float) -> YaqlCall:
    """Return the call with what is left of its time by the clock."""
    if call.max_wall_seconds is None:
        return replace(call, max_wall_seconds=call.max_seconds * _STARVATION_FACTOR)
    left_s = call.max_wall_seconds - waited_s
    if left_s <= 0:
        raise _late(call)
    return replace(call, max_wall_seconds=left_s)


def _ask(worker: ExpressionProcess, call: YaqlCall) -> YaqlResult:
    """Return the answer; raises ``OSError``, ``EOFError`` or ``ValueError`` without one."""
    worker.connection.settimeout((call.max_wall_seconds or 0) + _ANSWER_ALLOWANCE_S)
    send_frame(worker.connection, encode_json(_fields(call)))
    frame = receive_frame(worker.connection, _MAX_ANSWER_BYTES)
    if frame is None:
        raise EOFError
    return YaqlResult(**json.loads(frame))


def _fields(call: YaqlCall) -> dict[str, Any]:
    """Return the fields of a call; ``asdict`` would copy the data."""
    return {name: getattr(call, name) for name in _CALL_FIELDS}


def _current_project() -> str | None:
    """Return the project of the request or the job, None for a command."""
    context = get_current()
    return None if context is None else context.project_id


def _killed(call: YaqlCall, signal_number: int) -> YaqlResult:
    """Return the answer for an expression whose child was ended.

    Raises:
        EvaluationUnavailable: The child did not get its processor time.
    """
    LOG.warning(
        "expression exceeded its limits: max_seconds=%(max_seconds)s signal=%(signal)s",
        {"max_seconds": call.max_seconds, "signal": signal_number},
    )
    if signal_number == signal.SIGALRM:
        raise _late(call)
    reason = f"it takes more than {call.max_seconds:g} s of processor time, or too much memory"
    return YaqlResult(None, error=reason, steps_left=0, seconds=call.max_seconds)


def _late(call: YaqlCall) -> EvaluationUnavailable:
    """Return the error for a call that did not get its processor time; a retry may."""
    left_s = call.max_wall_seconds or 0.0
    limit = f"within {left_s:.1f} s" if left_s > 0 else "in time"  # others used its time up
    return EvaluationUnavailable(f"it has not ended {limit}, for it waited for others")
