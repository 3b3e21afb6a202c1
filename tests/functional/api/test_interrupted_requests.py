"""Requests that break off, and bodies without a length, on both HTTP servers."""

from __future__ import annotations

import io
import json
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from webob import Request

from heat_convergence.cli.daemons.http_limits import HttpLimits
from tests.functional.harness import LocalService
from tests.functional.http_servers import GREEN, NATIVE, ServedApplication

TEMPLATE = {"heat_template_version": "2018-08-31"}
BODY = json.dumps({"stack_name": "s", "template": TEMPLATE}).encode()
HEAD = b"POST /v1/p/stacks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
Send = Callable[[bytes], tuple[int, Any]]


@pytest.fixture(params=[NATIVE, GREEN])
def served(service: LocalService, request: pytest.FixtureRequest) -> Iterator[ServedApplication]:
    served = ServedApplication(request.param, service.app, HttpLimits(threads=2))
    yield served
    served.stop()


@pytest.fixture
def send(served: ServedApplication) -> Send:
    """Return a function that sends bytes and returns status and document."""

    def send(data: bytes) -> tuple[int, Any]:
        status, _, body = served.ask(data)
        return status, json.loads(body)

    return send


def chunks(body: bytes, size: int = 20) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_chunked_body_is_accepted(send: Send) -> None:
    status, response = send(CHUNKED + chunks(BODY))
    assert status == 201, response


def test_idle_connections_do_not_keep_other_clients_waiting(
    served: ServedApplication, send: Send
) -> None:
    """Clients keep connections open between requests, longer than another one waits."""
    for _ in range(5):
        client = served.connect()
        client.send(b"GET /v1/p/stacks HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.receive()[0] == 200
    assert send(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)[0] == 201


def test_too_large_chunked_body_is_refused(send: Send) -> None:
    status, response = send(CHUNKED + chunks(b'{"a": "' + b"x" * 1_100_000 + b'"}', 65536))
    assert (status, response["error"]["type"]) == (400, "RequestLimitExceeded")


def test_body_that_is_not_chunked_is_a_bad_request(
    send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    status, response = send(CHUNKED + b"zz\r\n" + BODY + b"\r\n0\r\n\r\n")
    assert (status, response["error"]["type"]) == (400, "HTTPBadRequest")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_body_shorter_than_its_length_creates_nothing(
    served: ServedApplication, service: LocalService, caplog: pytest.LogCaptureFixture
) -> None:
    connection = served.connect()
    connection.send(HEAD + b"Content-Length: 500\r\n\r\n" + BODY)
    connection.socket.shutdown(socket.SHUT_WR)
    response = connection.receive_to_end()
    assert response == b"" or response.startswith(b"HTTP/1.1 400 ")
    assert service.send("GET", "/stacks").json["stacks"] == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_negative_content_length_is_a_bad_request(service: LocalService) -> None:
    """The application gets such a length from one of the servers."""
    request = Request.blank("/v1/p/stacks", method="POST")

    class Refusing(io.BytesIO):
        def read(self, *_size: Any) -> bytes:
            raise ValueError("invalid number of bytes to read")

    request.environ.update({"CONTENT_LENGTH": "-1", "wsgi.input": Refusing()})
    assert request.get_response(service.app).status_int == 400
