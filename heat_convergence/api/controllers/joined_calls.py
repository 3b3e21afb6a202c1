"""Calls of several threads that one of them does together.

Called by controllers whose transaction costs much the same for one call and for several.  While
one is at work, further calls wait; then the first of them does those that wait, and the others get
their results from it.  Must not keep a call waiting while nothing is at work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from heat_convergence.common.error_boundary import TRANSACTION_ERRORS, BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import Error

Argument = TypeVar("Argument")
Result = TypeVar("Result")
MOST_CALLS = 16  # that are done together


class _Call(Generic[Argument, Result]):
    """A call that waits.

    Attributes:
        turn: Ends the wait: with the calls that the thread of this one is to do together, or with
            none if another thread has done them.
        result: None if the call is to be done alone.
    """

    __slots__ = ("argument", "result", "turn")

    def __init__(self, argument: Argument) -> None:
        self.argument = argument
        self.turn: Future[Sequence[_Call[Argument, Result]]] = Future()
        self.result: Result | None = None


class JoinedCalls(Generic[Argument, Result]):
    """The calls of all threads, of which those with the same key are done together.

    Thread-safe.

    Args:
        work: Does what one call or several ask for, all or nothing; returns results in order.
    """

    def __init__(self, work: Callable[[Sequence[Argument]], Sequence[Result]]) -> None:
        self._work = work
        self._boundary = ErrorBoundary(BoundaryName.REQUEST, ErrorLog(), (Error,))
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[_Call[Argument, Result]]] = {}  # by keys that are at work

    def call(self, key: str, argument: Argument) -> Result:
        """Return the result of an argument; it is done alone if doing several together fails.

        Raises:
            Unavailable: the database does not answer, which concerns every call.
            ConcurrentTransaction: a conflict lasts, in which other calls may take part.
        """
        own: _Call[Argument, Result] = _Call(argument)
        with self._lock:
            if key in self._waiting:
                self._waiting[key].append(own)
            else:
                self._waiting[key] = deque()
                own.turn.set_result((own,))
        together = own.turn.result()
        try:
            if len(together) > 1:
                self._do_together(together)
            if own.result is None:
                (own.result,) = self._work([argument])
        finally:
            if together:
                self._start_next(key)
        return own.result

    def _start_next(self, key: str) -> None:
        """Let the first call that waits begin, with others."""
        with self._lock:
            waiting = self._waiting[key]
            count = min(len(waiting), MOST_CALLS)
            together = [waiting.popleft() for _ in range(count)]
            if not together:
                del self._waiting[key]
                return
        together[0].turn.set_result(together)

    def _do_together(self, together: Sequence[_Call[Argument, Result]]) -> None:
        """Do calls; those that get no result are done by their own threads."""
        others = together[1:]
        try:
            for call, result in zip(together, self._results_of(together), strict=False):
                call.result = result
        except TRANSACTION_ERRORS as error:
            for call in others:
                call.turn.set_exception(error)
            raise
        finally:
            for call in others:
                if not call.turn.done():
                    call.turn.set_result(())

    def _results_of(self, together: Sequence[_Call[Argument, Result]]) -> Sequence[Result]:
        """Return the results, none if the work has failed for any of them."""
        try:
            return self._boundary.run(
                lambda: self._work([call.argument for call in together]), lambda _error, _id: ()
            )
        except TRANSACTION_ERRORS:
            raise
        except Error:
            return ()
