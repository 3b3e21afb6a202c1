"""The API answers 503 until its database can be used."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.middleware import readiness
from heat_convergence.api.middleware.readiness import CHECK_INTERVAL_S, ReadinessGate
from heat_convergence.common.failures import Unavailable


class Database:
    """A database whose schema is upgraded when the test says so."""

    def __init__(self) -> None:
        self.is_upgraded = False
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if not self.is_upgraded:
            raise Unavailable("the database schema is at 0001")


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"answer"]


@pytest.fixture
def now() -> list[float]:
    return [100.0]


def test_requests_are_refused_until_the_check_passes_once(now: list[float]) -> None:
    database = Database()
    gate = ReadinessGate(application, database.check, monotonic=lambda: now[0])
    for path in ("/", "/healthcheck", "/v1/p/stacks"):
        with pytest.raises(Unavailable, match="not ready"):
            Request.blank(path).get_response(gate)
    assert database.checks == 1, "the check is made at most once in its interval"

    database.is_upgraded = True
    now[0] += CHECK_INTERVAL_S + 0.1
    assert Request.blank("/healthcheck").get_response(gate).text == "answer"
    database.is_upgraded = False
    assert Request.blank("/").get_response(gate).text == "answer"
    assert database.checks == 2


CLIENTS = 8


class SlowDatabase(Database):
    """A database whose first check ends when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.may_end = threading.Event(), threading.Event()

    def check(self) -> None:
        self.started.set()
        assert self.may_end.wait(10)
        super().check()


def send_during_check(database: SlowDatabase, pool: ThreadPoolExecutor) -> list[Future[str]]:
    """Return the answers to requests of which all but one arrive while the check is made."""
    gate = ReadinessGate(application, database.check)

    def send() -> str:
        try:
            return str(Request.blank("/v1/p/stacks").get_response(gate).text)
        except Unavailable as error:
            return str(error)

    answers = [pool.submit(send)]
    assert database.started.wait(10)
    return answers + [pool.submit(send) for _ in range(CLIENTS - 1)]


@pytest.mark.parametrize("is_upgraded", [True, False])
def test_requests_wait_for_the_check_that_is_being_made(is_upgraded: bool) -> None:
    database = SlowDatabase()
    database.is_upgraded = is_upgraded
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = send_during_check(database, pool)
        database.may_end.set()
        found = {answer.result(10) for answer in answers}
    expected = "answer" if is_upgraded else "The service is not ready. Please try again later."
    assert found == {expected}
    assert database.checks == 1


def test_requests_do_not_wait_long_for_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "MAX_WAIT_S", 0.01)
    database = SlowDatabase()
    database.is_upgraded = True
    with ThreadPoolExecutor(CLIENTS) as pool:
        first, *others = send_during_check(database, pool)
        assert all("not ready" in answer.result(10) for answer in others)
        database.may_end.set()
        assert first.result(10) == "answer"
