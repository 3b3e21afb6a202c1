"""The lines of the API's access log."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.context import noauth_caller
from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.access_log import AccessLog, log_project_of_caller

LOGGER = "heat_convergence.api.middleware.access_log"


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    environ = {**environ, CALLER_KEY: noauth_caller(environ, "p")}
    log_project_of_caller(environ)
    start_response("201 Created", [("Content-Type", "text/plain")])
    return [b"body"]


def handle(url: str, inner: Any = application) -> None:
    times = iter([10.0, 10.0426])
    environ = {"openstack.request_id": "req-1"}
    request = Request.blank(url, method="POST", environ=environ)
    assert request.get_response(AccessLog(inner, lambda: next(times))).body is not None


def test_request_is_logged_once_with_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER):
        handle("/v1/p/stacks?X-Amz-Signature=secret")
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.args == {
        "method": "POST",
        "path": "/v1/p/stacks",
        "status": "201",
        "milliseconds": 43,
        "request_id": "req-1",
        "project": "p",
    }
    assert "secret" not in record.getMessage()


def test_path_cannot_forge_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER):
        handle("/v1/p/stacks%0Arequest%20handled")
    assert "\n" not in caplog.records[0].getMessage()


def test_request_without_a_caller_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("401 Unauthorized", [])
        return []

    with caplog.at_level(logging.INFO, logger=LOGGER):
        handle("/v1/p/stacks", refuse)
    (record,) = caplog.records
    assert isinstance(record.args, dict)
    assert (record.args["status"], record.args["project"]) == ("401", "")
