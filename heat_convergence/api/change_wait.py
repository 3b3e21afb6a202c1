"""Requests that wait for changes without a worker, and the reads by which a process notices them.

A handler with nothing to answer raises ``RequestHeld`` through the application. The server then
frees the worker, keeps the connection, and runs the request again when there may be something,
when its time is over, or when the server stops. One read in a second serves all requests of a
process that wait for changes of one kind: events of stacks, or the stacks of projects. Used by
their controllers and the HTTP servers of ``cli``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NoReturn

from heat_convergence.common import errors

WAIT_KEY = "heat_convergence.change_wait"
MAX_WAIT_S = 60
_INTERVAL_S = 1.0
_MAX_WAITS = 2000
FindNewest = Callable[[Collection[str]], Mapping[str, str]]


class ChangeWait:
    """The wait of one request; a server that can hold requests puts one into its environment.

    Attributes:
        newest: The state of what the request waits for, as the handler has read it, by a key of
            the watch, such as the id of the newest event by the id of the stack.
        is_over: Whether the request is to be answered whatever there is.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.newest: Mapping[str, str] = {}
        self.is_over = False
        self._monotonic = monotonic
        self._deadline_s: float | None = None
        self._watch: ChangeWatch | None = None
        self._resume: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def hold(self, watch: ChangeWatch, newest: Mapping[str, str], seconds: float) -> None:
        """Raise ``RequestHeld`` unless the request has waited for so long already.

        Args:
            watch: Notices changes.
            newest: The state of each key, read before the handler's list; empty where there is
                nothing yet.
            seconds: Since the request was handled first.
        """
        now_s = self._monotonic()
        if self._deadline_s is None:
            self._deadline_s = now_s + seconds
        if self.is_over or now_s >= self._deadline_s or watch.is_full:
            return
        self.newest, self._watch = dict(newest), watch
        self._raise()

    def _raise(self) -> NoReturn:
        raise RequestHeld(self)

    def start(self, resume: Callable[[], object]) -> None:
        """Wait, and call ``resume`` once when the request is to be handled again."""
        self._resume = resume
        if self._watch is None or self.is_over:
            self.resume()
        else:
            self._watch.add(self)

    def is_due(self, newest: Mapping[str, str]) -> bool:
        """Return whether a state is another one now, or the time is over."""
        changed = any(newest.get(key, "") != state for key, state in self.newest.items())
        return changed or self.is_over or self._monotonic() >= (self._deadline_s or 0.0)

    def resume(self) -> None:
        """Let the server handle the request again, if it waits."""
        with self._lock:
            resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def end(self) -> None:
        """Have the request answered at once, such as when the server stops."""
        self.is_over = True
        self.resume()


class RequestHeld(BaseException):
    """The end of a handler whose request waits; no error, so that it passes all boundaries."""

    def __init__(self, wait: ChangeWait) -> None:
        super().__init__("the request waits for changes")
        self.wait = wait


class ChangeWatch:
    """The reads of states for the waiting requests of a process.

    Args:
        find_newest: Returns the present state of each key that has one.
    """

    def __init__(self, find_newest: FindNewest) -> None:
        self._find_newest = find_newest
        self._waits: set[ChangeWait] = set()
        self._lock = threading.Lock()
        self._is_running = False

    @property
    def is_full(self) -> bool:
        """True while no further request may wait."""
        return len(self._waits) >= _MAX_WAITS

    def add(self, wait: ChangeWait) -> None:
        """Resume a request when it is due."""
        with self._lock:
            self._waits.add(wait)
            starts, self._is_running = not self._is_running, True
        if starts:
            threading.Thread(target=self._run, name="change watch", daemon=True).start()

    def _run(self) -> None:
        """Read while requests wait."""
        while True:
            time.sleep(_INTERVAL_S)
            self.run_round()
            with self._lock:
                if not self._waits:
                    self._is_running = False
                    return

    def run_round(self) -> None:
        """Read the states once, and resume the requests that are due."""
        with self._lock:
            waits = list(self._waits)
        keys = {key for wait in waits for key in wait.newest}
        try:
            newest = self._find_newest(sorted(keys))
        except errors.Error:  # the database is away, which the resumed requests answer
            newest = {}
        due = [wait for wait in waits if wait.is_due(newest)]
        with self._lock:
            self._waits.difference_update(due)
        for wait in due:
            wait.resume()
