"""Requests share the places at a service, and nothing is kept of one without requests."""

from __future__ import annotations

import threading

import pytest

from heat_convergence.clients.circuit_breaker import Endpoint
from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.common.failures import CallRefused
from heat_convergence.common.time_limit import time_limit

NOVA = Endpoint("compute", "north", "p1")


def test_request_beyond_the_limit_is_refused_at_one_service_only() -> None:
    limiter = RequestLimiter(1)
    with limiter.slot(NOVA), time_limit(0.0):
        with pytest.raises(CallRefused), limiter.slot(Endpoint("compute", "north", "p2")):
            pass
        with limiter.slot(Endpoint("compute", "south", "p1")):
            pass
    with limiter.slot(NOVA), time_limit(0.0):
        pass


def test_waiting_request_gets_the_place_that_becomes_free() -> None:
    limiter, ended = RequestLimiter(1), threading.Event()

    def wait_for_place() -> None:
        with limiter.slot(NOVA):
            ended.set()

    with limiter.slot(NOVA):
        waiting = threading.Thread(target=wait_for_place)
        waiting.start()
        assert not ended.is_set()
    waiting.join(10)
    assert ended.is_set()
    assert not limiter._places


def test_regions_that_users_name_are_not_kept() -> None:
    limiter = RequestLimiter(1)
    for number in range(100):
        with limiter.slot(Endpoint("compute", f"region {number}", "p1")):
            assert len(limiter._places) == 1
    assert not limiter._places
