"""Waiting of workers for database and broker.

Decides what heals by itself: a server that is down and a schema that was not upgraded yet are
waited for. A refused login ends a daemon that has never been ready; later it is waited for, too,
since passwords are changed while daemons run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from heat_convergence.cli.startup.startup_state import (
    EXIT_REFUSED,
    StartupProblem,
    StartupState,
)
from heat_convergence.common.failures import AccessRefused
from heat_convergence.db.connection.database import wait_until_available
from heat_convergence.rpc.transport import is_refusal

LOG = logging.getLogger(__name__)
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 10.0
_REPORT_AFTER_S = 3.0  # the library that connects says neither which option nor what to do


def wait_for_database(
    check: Callable[[], None], startup: StartupState, stop_event: threading.Event
) -> bool:
    """Return true once the database can be used, false when the process stops before.

    Args:
        check: Function that raises ``Unavailable`` while the database cannot be used.
        startup: State of the daemon's start, which a refused login ends.
        stop_event: Set when the process stops.
    """
    problem = None

    def check_login() -> None:
        try:
            check()
        except AccessRefused as error:
            if startup.was_ready:
                raise
            raise _database_problem(error) from error

    try:
        return wait_until_available(
            check_login, wait=stop_event.wait, is_stopping=stop_event.is_set
        )
    except StartupProblem as found:
        problem = found
    startup.fail(problem)
    return False


def start_listening(
    start: Callable[[], None], startup: StartupState, stop_event: threading.Event
) -> bool:
    """Return true once messages are received, false when the process stops before.

    Args:
        start: Function that connects to the broker; it blocks while none answers.
        startup: State of the daemon's start, which a refused login ends.
        stop_event: Set when the process stops.
    """
    pause_s = _FIRST_PAUSE_S
    while not stop_event.is_set():
        with _reported_wait():
            error = error_of(start)
        if error is None:
            startup.mark_ready()
            return True
        if is_refusal(error) and not startup.was_ready:
            startup.fail(_broker_problem(error))
            return False
        LOG.warning(
            "waiting for the broker: retry_in_s=%(retry_in_s)s error=%(error)s",
            {"retry_in_s": pause_s, "error": _first_line(error)},
        )
        stop_event.wait(pause_s)
        pause_s = min(pause_s * 2, _MAX_PAUSE_S)
    return False


@contextmanager
def _reported_wait() -> Iterator[None]:
    """Say what is waited for if the block, which connects to the broker, does not end soon."""
    timer = threading.Timer(
        _REPORT_AFTER_S,
        LOG.warning,
        (
            "waiting for the broker: no node of [DEFAULT] transport_url has answered yet; start"
            " it, or correct host and port",
        ),
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def error_of(start: Callable[[], None]) -> Exception | None:
    """Return the error of the start of a listener, None if it has started."""
    try:
        start()
    except Exception as error:  # noqa: BLE001  # error boundary of the listener
        return error
    return None


def _database_problem(error: AccessRefused) -> StartupProblem:
    return StartupProblem(
        f"[database] connection: the database refuses user, password or database: {error.detail}",
        EXIT_REFUSED,
    )


def _broker_problem(error: Exception) -> StartupProblem:
    return StartupProblem(
        "[DEFAULT] transport_url: the broker refuses user, password or virtual host:"
        f" {_first_line(error)}",
        EXIT_REFUSED,
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
