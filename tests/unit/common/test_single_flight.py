"""Calls that several threads need at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from heat_convergence.common.errors import AuthorizationFailure, EntityNotFound, Error
from heat_convergence.common.failures import CallRefused, TemporaryFailure
from heat_convergence.common.single_flight import SingleFlight
from heat_convergence.common.time_limit import time_limit

JOBS = 10
WAIT_S = 10.0


class SlowCall:
    """A call that ends when the test lets it, with what the test gives it."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: str | None = None
        self.error: BaseException | None = None
        self.started, self.may_end = threading.Event(), threading.Event()

    def cached(self) -> str | None:
        return self.kept

    def __call__(self) -> str:
        self.count += 1
        error = self.error
        self.started.set()
        assert self.may_end.wait(WAIT_S)
        if error is not None:
            raise error
        self.kept = "answer"
        return self.kept


class Joining(SingleFlight[str]):
    """Calls on their way that count the threads which wait for another one."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.joined = threading.Semaphore(0)

    def _join(self, flight: Any, call: Callable[[], str]) -> str:
        self.joined.release()
        return super()._join(flight, call)


def run_together(
    flights: Joining, call: SlowCall, pool: ThreadPoolExecutor, *, key: str = "k"
) -> list[Future[str]]:
    """Return the results of ten threads, all of which have asked before the first one ends."""
    first = pool.submit(flights.run, key, call.cached, call)
    assert call.started.wait(WAIT_S)
    others = [pool.submit(flights.run, key, call.cached, call) for _ in range(JOBS - 1)]
    for _ in others:
        assert flights.joined.acquire(timeout=WAIT_S)
    call.may_end.set()
    return [first, *others]


def failures(answers: list[Future[str]]) -> list[BaseException]:
    found = [answer.exception(WAIT_S) for answer in answers]
    assert None not in found
    return [error for error in found if error is not None]


def test_ten_threads_make_one_call() -> None:
    flights, call = Joining(), SlowCall()
    with ThreadPoolExecutor(JOBS) as pool:
        answers = run_together(flights, call, pool)
    assert [answer.result() for answer in answers] == ["answer"] * JOBS
    assert call.count == 1


def test_later_call_finds_what_the_first_has_cached() -> None:
    flights, call = Joining(), SlowCall()
    call.may_end.set()
    assert [flights.run("k", call.cached, call) for _ in range(3)] == ["answer"] * 3
    assert call.count == 1


def test_error_is_that_of_all_who_wait_and_of_nobody_after_them() -> None:
    flights, call = Joining(), SlowCall()
    call.error = EntityNotFound("image", "cirros")
    with ThreadPoolExecutor(JOBS) as pool:
        found = failures(run_together(flights, call, pool))
    assert call.count == 1
    assert {(type(error), str(error)) for error in found} == {(EntityNotFound, str(call.error))}
    call.error = None
    assert flights.run("k", call.cached, call) == "answer"


def test_each_thread_has_an_error_of_its_own() -> None:
    flights, call = Joining(), SlowCall()
    call.error = TemporaryFailure("no answer", retry_after_s=3.0)
    with ThreadPoolExecutor(JOBS) as pool:
        found = failures(run_together(flights, call, pool))
    assert len({id(error) for error in found}) == JOBS
    for number, error in enumerate(found):
        assert isinstance(error, TemporaryFailure)
        error.path = f"resources.r{number}"
    assert len({str(error) for error in found}) == JOBS
    assert {error.retry_after_s for error in found if isinstance(error, TemporaryFailure)} == {3.0}


@pytest.mark.parametrize(
    "error", [AuthorizationFailure("the trust was revoked"), ValueError("a defect"), SystemExit()]
)
def test_error_of_one_caller_is_not_that_of_the_others(error: BaseException) -> None:
    flights, call = Joining(), SlowCall()
    call.error = error
    with ThreadPoolExecutor(JOBS) as pool:
        first = pool.submit(flights.run, "k", call.cached, call)
        assert call.started.wait(WAIT_S)
        call.error = None
        others = [pool.submit(flights.run, "k", call.cached, call) for _ in range(JOBS - 1)]
        for _ in others:
            assert flights.joined.acquire(timeout=WAIT_S)
        call.may_end.set()
        assert first.exception(WAIT_S) is error
        assert [other.result(WAIT_S) for other in others] == ["answer"] * (JOBS - 1)


def test_time_limit_of_one_caller_fails_no_other() -> None:
    flights, call = Joining(), SlowCall()

    def within_no_time() -> str:
        with time_limit(0.0):
            return flights.run("k", call.cached, call)

    call.error = TemporaryFailure("the time limit is exceeded")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(within_no_time)
        assert call.started.wait(WAIT_S)
        call.error = None
        second = pool.submit(flights.run, "k", call.cached, call)
        assert flights.joined.acquire(timeout=WAIT_S)
        call.may_end.set()
        assert isinstance(first.exception(WAIT_S), TemporaryFailure)
        assert second.result(WAIT_S) == "answer"


@pytest.mark.parametrize(("max_wait_s", "limit_s"), [(0.05, 60.0), (60.0, 0.05)])
def test_nobody_waits_without_a_limit(max_wait_s: float, limit_s: float) -> None:
    flights, call = Joining(max_wait_s=max_wait_s), SlowCall()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flights.run, "k", call.cached, call)
        assert call.started.wait(WAIT_S)
        with time_limit(limit_s), pytest.raises(CallRefused, match="has not ended"):
            flights.run("k", call.cached, call)
        call.may_end.set()
        assert first.result(WAIT_S) == "answer"


def test_calls_with_different_keys_do_not_wait_for_each_other() -> None:
    flights, slow, fast = Joining(), SlowCall(), SlowCall()
    fast.may_end.set()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flights.run, "slow", slow.cached, slow)
        assert slow.started.wait(WAIT_S)
        assert flights.run("fast", fast.cached, fast) == "answer"
        slow.may_end.set()
        assert first.result(WAIT_S) == "answer"


def test_all_errors_of_the_service_can_be_copied() -> None:
    def subclasses(known: type[Error]) -> set[type[Error]]:
        descendants = {one for each in known.__subclasses__() for one in subclasses(each)}
        return {known, *descendants}

    for error_class in subclasses(Error):
        error = error_class.__new__(error_class, "text")
        Error.__init__(error, "text", path="p")
        flights: SingleFlight[str] = SingleFlight()
        flight: Any = type("Done", (), {"done": threading.Event(), "error": error})()
        flight.done.set()
        with pytest.raises(error_class) as caught:
            flights._join(flight, lambda: "")
        assert (caught.value is not error, str(caught.value)) == (True, str(error))
