"""Responses 5xx: generic, with the request id under which the log has the cause."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from webob import Request, Response
from webob.exc import HTTPServiceUnavailable

from heat_convergence.api.app import build_app
from heat_convergence.api.middleware.faults import FaultWrapper
from heat_convergence.common import errors
from heat_convergence.common.failures import (
    ConcurrentTransaction,
    InvalidEncryptionKey,
    ResourceFailure,
    RowsContradict,
    StorageRefused,
    TemporaryFailure,
    Unavailable,
)
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.connection.driver_errors import translate_driver_errors
from tests.functional.api.test_service_unavailable import FailingStore, create
from tests.functional.harness import LocalService

DETAIL = "host=db.internal user=heat INSERT INTO stack"
FAILURES = [
    Unavailable(DETAIL),
    ConcurrentTransaction(DETAIL),
    StorageRefused(DETAIL),
    RowsContradict(DETAIL),
    InvalidEncryptionKey(DETAIL),
    TemporaryFailure(DETAIL),
    ResourceFailure(DETAIL),
    RuntimeError(DETAIL),
]


def read(service: LocalService) -> Response:
    return Request.blank("/v1/p/stacks").get_response(service.app)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("send", [create, read])
def test_failures_of_the_service_are_generic(
    service: LocalService, error: Exception, send: Any, caplog: pytest.LogCaptureFixture
) -> None:
    inner: Any = service.database if send is read else service.services.store
    failing: Any = FailingStore(inner, error, times=1000)
    broken = {"database": failing} if send is read else {"store": failing}
    service.use_application(build_app(replace(service.services, **broken)))
    caplog.set_level(logging.WARNING, logger="heat_convergence.api")
    response = send(service)
    assert response.status_int in (500, 503)
    assert "internal" not in response.text
    assert "INSERT" not in response.text
    request_id = response.headers["x-openstack-request-id"]
    assert request_id in response.json["error"]["message"]
    logged = "\n".join(f"{each.getMessage()} {each.exc_text}" for each in caplog.records)
    assert request_id in logged
    if isinstance(error, errors.Error):
        assert DETAIL in logged
    else:  # the text of an unexpected exception may quote a secret: type and place are logged
        assert "error_type=RuntimeError" in logged
        assert DETAIL not in logged


def test_an_unreachable_database_is_named_to_operators_alone() -> None:
    database = database_from_url("postgresql+psycopg2://heat:pw@127.0.0.1:1/secret_name")
    with pytest.raises(Unavailable) as caught:
        database.ping()
    assert "127.0.0.1" not in str(caught.value)
    assert "127.0.0.1" in caught.value.log_text


def test_a_refused_statement_is_shown_to_operators_alone() -> None:
    database = database_from_url("sqlite://")
    with pytest.raises(StorageRefused) as caught, database.write() as connection:
        connection.execute(sa.text("INSERT INTO no_table VALUES (1)"))
    assert "no_table" not in str(caught.value)
    assert "no_table" in caught.value.log_text


def test_an_error_of_this_service_passes_unchanged() -> None:
    with pytest.raises(errors.NotFound, match="as it is"), translate_driver_errors():
        raise errors.NotFound("as it is")


def test_a_failure_that_a_library_raises_is_generic(caplog: pytest.LogCaptureFixture) -> None:
    def fail(environ: dict[str, Any], start_response: Any) -> Any:
        raise HTTPServiceUnavailable(DETAIL)

    request = Request.blank("/v1/p/stacks", environ={"openstack.request_id": "req-1"})
    response = request.get_response(FaultWrapper(fail))
    assert (response.status_int, response.json["error"]["type"]) == (503, "HTTPServiceUnavailable")
    assert DETAIL not in response.text
    assert f"{DETAIL}: method=GET path=/v1/p/stacks request_id=req-1" in caplog.text
