"""Failures of the service itself: responses 503 and 500 without internal details."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable
from tests.functional.harness import LocalService

TEMPLATE = {"heat_template_version": "2016-10-14"}


class FailingStore:
    """A store or a database whose first calls fail."""

    def __init__(self, inner: Any, error: Exception, times: int) -> None:
        self._inner = inner
        self._error = error
        self.remaining_failures = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self._fail()
        with self._inner.transaction() as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator[Any]:
        self._fail()
        with self._inner.read() as conn:
            yield conn

    def _fail(self) -> None:
        if self.remaining_failures:
            self.remaining_failures -= 1
            raise self._error


def create(service: LocalService) -> Response:
    request = Request.blank("/v1/p/stacks", method="POST")
    request.json = {"stack_name": "a", "template": TEMPLATE}
    return request.get_response(service.app)


@pytest.mark.parametrize(
    "error", [ConcurrentTransaction("deadlock"), Unavailable("connection lost")]
)
def test_failed_write_is_retried(service: LocalService, error: Exception) -> None:
    store = FailingStore(service.services.store, error, times=2)
    service.use_application(build_app(replace(service.services, store=store)))
    assert create(service).status_int == 201


@pytest.mark.parametrize(
    "error", [ConcurrentTransaction("deadlock"), Unavailable("connection lost")]
)
def test_retries_of_a_write_are_limited(service: LocalService, error: Exception) -> None:
    store = FailingStore(service.services.store, error, times=1000)
    service.use_application(build_app(replace(service.services, store=store)))
    response = create(service)
    assert response.status_int == 503
    assert response.json["error"]["type"] == type(error).__name__
    assert response.headers["Retry-After"]
    assert store.remaining_failures > 980


def test_failed_read_is_retried(service: LocalService) -> None:
    database: Any = FailingStore(service.database, Unavailable("connection lost"), times=2)
    service.use_application(build_app(replace(service.services, database=database)))
    assert Request.blank("/v1/p/stacks").get_response(service.app).status_int == 200


def test_unreachable_database_is_service_unavailable(service: LocalService) -> None:
    database: Any = FailingStore(service.database, Unavailable("connection lost"), times=1000)
    service.use_application(build_app(replace(service.services, database=database)))
    response = Request.blank("/v1/p/stacks").get_response(service.app)
    assert (response.status_int, response.json["title"]) == (503, "Service Unavailable")
    assert response.headers["x-openstack-request-id"].startswith("req-")


def test_unexpected_error_shows_no_details(service: LocalService) -> None:
    database: Any = FailingStore(service.database, ZeroDivisionError("secret detail"), times=1000)
    service.use_application(build_app(replace(service.services, database=database)))
    response = Request.blank("/v1/p/stacks").get_response(service.app)
    assert response.status_int == 500
    assert response.json["error"]["type"] == "Error"
    assert "secret" not in response.text
    assert "ZeroDivision" not in response.text


def test_sweep_finds_work_after_lost_messages(service: LocalService) -> None:
    """The bus never fails; a sweep finds the messages that it drops."""
    service.bus.pending.clear()
    request = Request.blank("/v1/p/stacks", method="POST", headers={"X-Local-Hold": "1"})
    request.json = {
        "stack_name": "a",
        "template": {
            **TEMPLATE,
            "resources": {"r": {"type": "OS::Heat::Value", "properties": {"value": 1}}},
        },
    }
    path = request.get_response(service.app).location
    service.bus.pending.clear()
    service.clock.advance(60)
    service.observer.tick()
    service.run_until_idle()
    assert Request.blank(path).get_response(service.app).json["stack"]["stack_status"] == (
        "CREATE_COMPLETE"
    )
