"""The API answers 503 until its database can be used."""

from __future__ import annotations

from typing import Any

import pytest
from webob import Request

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
