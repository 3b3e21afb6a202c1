"""The start of a daemon: problems that end it, and the exit code that its workers ask for.

A parent process would replace a worker that cannot start for ever. The worker therefore reports
its problem here, in memory that parent and workers share, and the parent ends with its code.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import sys

LOG = logging.getLogger(__name__)

# Codes of sysexits.h, which service managers know: with the first one a restart is useless.
EXIT_CONFIGURATION = os.EX_CONFIG
EXIT_REFUSED = os.EX_UNAVAILABLE
_CODE, _READY = 0, 1


class StartupProblem(Exception):
    """A problem that ends a daemon at its start.

    Attributes:
        exit_code: The daemon's exit code.
    """

    def __init__(self, text: str, exit_code: int = EXIT_CONFIGURATION) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def report_problem(prog: str, problem: Exception) -> int:
    """Report a problem in one line, to the log or, without one, to standard error.

    Returns:
        The exit code of the daemon.
    """
    text = " ".join(str(problem).split())
    if logging.getLogger().handlers:
        LOG.critical("not started: %(problems)s", {"problems": text})
    else:
        print(f"{prog}: not started: {text}", file=sys.stderr)
    return int(getattr(problem, "exit_code", EXIT_CONFIGURATION))


class StartupState:
    """The reports of one daemon's workers; built by the parent before it forks."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 2)
        self._parent_id = os.getpid()

    @property
    def exit_code(self) -> int:
        """The exit code that a worker has asked for; 0 if none has."""
        return self._shared[_CODE]

    @property
    def was_ready(self) -> bool:
        """True once a worker of this daemon has been ready."""
        return bool(self._shared[_READY])

    def mark_ready(self) -> None:
        """Record that a worker is connected to what it needs."""
        self._shared[_READY] = 1

    def end_with_exit_code(self, *_arguments: object) -> None:
        """End this process; a handler of SIGTERM until the launcher has its own."""
        raise SystemExit(self.exit_code)

    def fail(self, problem: StartupProblem) -> None:
        """Log a problem in one line, and end the daemon with its exit code.

        Further workers with a problem say nothing: they end as well.
        """
        if self.exit_code:
            return
        self._shared[_CODE] = problem.exit_code
        LOG.critical("not started: %(problems)s", {"problems": problem})
        if os.getpid() != self._parent_id:
            os.kill(self._parent_id, signal.SIGTERM)
