"""Calls whose result several threads need at the same time, made by one of them.

Decides which thread makes the call and which ones wait for it. Called by caches of lookups, of
discovery documents and of tokens; keeps no result once the call has ended. Works on green and on
native threads, and lets nobody wait without a limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from heat_convergence.common import time_limit
from heat_convergence.common.errors import AuthorizationFailure, Error, Forbidden
from heat_convergence.common.failures import CallRefused

MAX_WAIT_S = 60.0  # as long as a request of the clients may take by default

Result = TypeVar("Result")


def concerns_everybody(error: Exception) -> bool:
    """Return whether an error is that of every caller, whatever credential a caller has.

    RULE 11: a refused credential of one stack fails no other.
    """
    return not isinstance(error, AuthorizationFailure | Forbidden)


class _Flight(Generic[Result]):
    """One call on its way, which has a result or an error, or neither, once it is done."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.result: Result | None = None
        self.error: Exception | None = None


class SingleFlight(Generic[Result]):
    """Calls on their way, by a key. Thread-safe.

    Threads that wait get the error of the call, too, if it concerns them; otherwise, and if the
    thread that calls has reached its own time limit or is killed, they call for themselves.

    Args:
        errors: Classes of the errors that may concern those who wait.
        is_shared: Returns whether an error of these classes concerns those who wait.
        max_wait_s: Longest time that a thread waits for the call of another one.
    """

    def __init__(
        self,
        errors: tuple[type[Exception], ...] = (Error,),
        is_shared: Callable[[Exception], bool] = concerns_everybody,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self._errors = errors
        self._is_shared = is_shared
        self._max_wait_s = max_wait_s
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight[Result]] = {}

    def run(
        self, key: Hashable, cached: Callable[[], Result | None], call: Callable[[], Result]
    ) -> Result:
        """Return the cached result, that of a call on its way, or that of a new call.

        Args:
            key: Calls with the same key have the same result.
            cached: Returns the result of an earlier call, if it is known and still valid.
            call: Makes the call and caches its result before it returns it; must not run a
                call with the same key itself.

        Raises:
            CallRefused: The call of another thread does not end in time.
        """
        with self._lock:
            found = cached()
            if found is not None:
                return found
            flight = self._flights.get(key)
            is_first = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        return self._make(key, flight, call) if is_first else self._join(flight, call)

    def _make(self, key: Hashable, flight: _Flight[Result], call: Callable[[], Result]) -> Result:
        try:
            flight.result = call()
        except self._errors as error:
            is_shared = self._is_shared(error) and not time_limit.is_over()
            flight.error = error if is_shared else None
            raise
        else:
            return flight.result
        finally:  # also when the thread is killed: then the others call for themselves
            with self._lock:
                del self._flights[key]
            flight.done.set()

    def _join(self, flight: _Flight[Result], call: Callable[[], Result]) -> Result:
        started_s, left_s = time.monotonic(), time_limit.remaining_s()
        limit_s = self._max_wait_s if left_s is None else min(max(left_s, 0.0), self._max_wait_s)
        if not flight.done.wait(limit_s):
            waited_s = time.monotonic() - started_s
            raise CallRefused(f"the same call of another thread has not ended in {waited_s:.0f} s")
        if flight.error is not None:
            raise _copy_of(flight.error) from flight.error
        return call() if flight.result is None else flight.result


def _copy_of(error: Exception) -> Exception:
    """Return an equal error, since those who catch one add where it happened to them."""
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    return made
