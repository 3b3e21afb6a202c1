"""When the service itself is in trouble: 503 and 500, with nothing of its inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.common import errors
from tests.functional.harness import LocalService

TEMPLATE = {"heat_template_version": "2016-10-14"}


class FailingStore:
    """A store, or a database, that fails so many times before it works."""

    def __init__(self, inner: Any, error: Exception, times: int) -> None:
        self._inner = inner
        self._error = error
        self.left = times

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
        if self.left:
            self.left -= 1
            raise self._error


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


def create(service: LocalService) -> Response:
    request = Request.blank("/v1/p/stacks", method="POST")
    request.json = {"stack_name": "a", "template": TEMPLATE}
    return request.get_response(service.app)


@pytest.mark.parametrize(
    "error", [errors.ConcurrentTransaction("deadlock"), errors.Unavailable("gone")]
)
def test_a_write_is_tried_again(service: LocalService, error: Exception) -> None:
    store = FailingStore(service.services.store, error, times=2)
    service.use_application(build_app(replace(service.services, store=store)))
    assert create(service).status_int == 201


@pytest.mark.parametrize(
    "error", [errors.ConcurrentTransaction("deadlock"), errors.Unavailable("gone")]
)
def test_a_write_is_not_tried_for_ever(service: LocalService, error: Exception) -> None:
    store = FailingStore(service.services.store, error, times=1000)
    service.use_application(build_app(replace(service.services, store=store)))
    answer = create(service)
    assert answer.status_int == 503
    assert answer.json["error"]["type"] == type(error).__name__
    assert answer.headers["Retry-After"]
    assert store.left > 990


def test_a_read_is_tried_again(service: LocalService) -> None:
    database: Any = FailingStore(service.database, errors.Unavailable("gone"), times=2)
    service.use_application(build_app(replace(service.services, database=database)))
    assert Request.blank("/v1/p/stacks").get_response(service.app).status_int == 200


def test_a_database_that_is_down(service: LocalService) -> None:
    database: Any = FailingStore(service.database, errors.Unavailable("gone"), times=1000)
    service.use_application(build_app(replace(service.services, database=database)))
    answer = Request.blank("/v1/p/stacks").get_response(service.app)
    assert (answer.status_int, answer.json["title"]) == (503, "Service Unavailable")
    assert answer.headers["x-openstack-request-id"].startswith("req-")


def test_the_unexpected_is_not_shown(service: LocalService) -> None:
    database: Any = FailingStore(service.database, ZeroDivisionError("secret detail"), times=1000)
    service.use_application(build_app(replace(service.services, database=database)))
    answer = Request.blank("/v1/p/stacks").get_response(service.app)
    assert answer.status_int == 500
    assert answer.json["error"]["type"] == "Error"
    assert "secret" not in answer.text
    assert "ZeroDivision" not in answer.text


def test_a_broker_that_is_down_loses_nothing(service: LocalService) -> None:
    """The bus never fails; what it drops is found by a sweep."""
    service.bus.pending.clear()
    request = Request.blank("/v1/p/stacks", method="POST", headers={"X-Test-Hold": "1"})
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
