"""Log lines that cannot be written, for example because the disk is full.

The logging library would print a traceback to standard error for each such line. Called by
``config``; says so in one line a minute instead, and the process goes on.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from functools import partial

REPORT_INTERVAL_S = 60.0


class LogWriteErrors:
    """The reports of the handlers of one process.

    Args:
        prog: Name of the program, which begins the report.
        monotonic: Clock of the interval between two reports.
    """

    def __init__(self, prog: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._prog = prog
        self._monotonic = monotonic
        self._next_s = monotonic()
        self._lost = 0

    def watch(self, handler: logging.Handler) -> None:
        """Report what a handler cannot write."""
        report_others = handler.handleError
        handler.handleError = partial(  # type: ignore[method-assign]
            self._report, handler, report_others
        )

    def _report(
        self,
        handler: logging.Handler,
        report_others: Callable[[logging.LogRecord], None],
        record: logging.LogRecord,
    ) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            report_others(record)  # a defect of the line itself
            return
        self._lost += 1
        if self._monotonic() < self._next_s:
            return
        self._next_s = self._monotonic() + REPORT_INTERVAL_S
        target = getattr(handler, "baseFilename", "standard error")
        text = (
            f"{self._prog}: {self._lost} lines of the log were lost, since {target} cannot be"
            f" written: {error.strerror}; free space, and the log goes on\n"
        )
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            return  # nothing is left that could be told
