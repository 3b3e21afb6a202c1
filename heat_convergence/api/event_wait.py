"""Requests that wait for events without a worker, and the reads by which a process notices events.

A handler with nothing to answer raises ``RequestHeld`` through the application. The server then
frees the worker, keeps the connection, and runs the request again when there may be something,
when its time is over, or when the server stops. One read in a second serves all waiting requests
of a process. Used by the controller of events and the HTTP servers of ``cli``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NoReturn

from heat_convergence.common import errors

WAIT_KEY = "heat_convergence.event_wait"
MAX_WAIT_S = 60
_INTERVAL_S = 1.0
_MAX_WAITS = 2000
FindNewest = Callable[[Collection[str]], Mapping[str, str]]


class EventWait:
    """The wait of one request; a server that can hold requests puts one into its environment.

    Attributes:
        stack_ids: The stacks for whose events the request waits.
        newest: The ids of their newest events, as the handler has read them.
        is_over: Whether the request is to be answered whatever there is.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.stack_ids: frozenset[str] = frozenset()
        self.newest: Mapping[str, str] = {}
        self.is_over = False
        self._monotonic = monotonic
        self._deadline_s: float | None = None
        self._watch: EventWatch | None = None
        self._resume: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def hold(self, watch: EventWatch, newest: Mapping[str, str], seconds: float) -> None:
        """Raise ``RequestHeld`` unless the request has waited for so long already.

        Args:
            watch: Notices new events.
            newest: The newest event of each stack, read before the handler's list; stacks without
                events have an empty id.
            seconds: Since the request was handled first.
        """
        now_s = self._monotonic()
        if self._deadline_s is None:
            self._deadline_s = now_s + seconds
        if self.is_over or now_s >= self._deadline_s or watch.is_full:
            return
        self.stack_ids, self.newest, self._watch = frozenset(newest), dict(newest), watch
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
        """Return whether there are other events now, or the time is over."""
        changed = any(newest.get(each, "") != self.newest[each] for each in self.stack_ids)
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

    def __init__(self, wait: EventWait) -> None:
        super().__init__("the request waits for events")
        self.wait = wait


class EventWatch:
    """The reads of newest events for the waiting requests of a process.

    Args:
        find_newest: Returns the id of the newest event of each stack that has one.
    """

    def __init__(self, find_newest: FindNewest) -> None:
        self._find_newest = find_newest
        self._waits: set[EventWait] = set()
        self._lock = threading.Lock()
        self._is_running = False

    @property
    def is_full(self) -> bool:
        """True while no further request may wait."""
        return len(self._waits) >= _MAX_WAITS

    def add(self, wait: EventWait) -> None:
        """Resume a request when it is due."""
        with self._lock:
            self._waits.add(wait)
            starts, self._is_running = not self._is_running, True
        if starts:
            threading.Thread(target=self._run, name="event watch", daemon=True).start()

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
        """Read the newest events once, and resume the requests that are due."""
        with self._lock:
            waits = list(self._waits)
        stack_ids = {each for wait in waits for each in wait.stack_ids}
        try:
            newest = self._find_newest(sorted(stack_ids))
        except errors.Error:  # the database is away, which the resumed requests answer
            newest = {}
        due = [wait for wait in waits if wait.is_due(newest)]
        with self._lock:
            self._waits.difference_update(due)
        for wait in due:
            wait.resume()
