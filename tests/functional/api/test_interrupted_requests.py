"""Requests that break off, and bodies without a length, on both HTTP servers."""

from __future__ import annotations

import io
import json
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import eventlet
import pytest
from eventlet.green import socket as green_socket
from webob import Request

from heat_convergence.cli.daemons.eventlet_server import EventletApiServer
from heat_convergence.cli.daemons.threaded_server import ThreadedApiServer, create_listener
from tests.functional.harness import LocalService

TEMPLATE = {"heat_template_version": "2018-08-31"}
BODY = json.dumps({"stack_name": "s", "template": TEMPLATE}).encode()
HEAD = b"POST /v1/p/stacks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
Send = Callable[[bytes], tuple[int, Any]]


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


@pytest.fixture(params=["native", "green"])
def send(service: LocalService, request: pytest.FixtureRequest) -> Iterator[Send]:
    """Return a function that sends bytes, closes and returns status and document."""
    green = request.param == "green"
    sockets: Any = green_socket if green else socket
    listener: Any = (
        eventlet.listen(("127.0.0.1", 0)) if green else create_listener("127.0.0.1", 0, backlog=8)
    )
    server_class: Any = EventletApiServer if green else ThreadedApiServer
    server = server_class(listener, service.app, threads=2, shutdown_timeout_s=5.0)
    server.serve_in_background()

    def send(data: bytes) -> tuple[int, Any]:
        client = sockets.create_connection(listener.getsockname())
        client.settimeout(20)
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        response = b""
        while part := client.recv(65536):
            response += part
        client.close()
        head, _, document = response.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(document)

    yield send
    server.stop()
    listener.close()


def chunks(body: bytes, size: int = 20) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_chunked_body_is_accepted(send: Send) -> None:
    status, response = send(CHUNKED + chunks(BODY))
    assert status == 201, response


def test_too_large_chunked_body_is_refused(send: Send) -> None:
    status, response = send(CHUNKED + chunks(b'{"a": "' + b"x" * 1_100_000 + b'"}', 65536))
    assert (status, response["error"]["type"]) == (400, "RequestLimitExceeded")


@pytest.mark.parametrize(
    "data",
    [HEAD + b"Content-Length: 500\r\n\r\n" + BODY, CHUNKED + b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"],
    ids=["shorter than it says", "no chunks"],
)
def test_incomplete_body_is_a_bad_request(
    send: Send, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    status, response = send(data)
    assert (status, response["error"]["type"]) == (400, "HTTPBadRequest")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_negative_content_length_is_a_bad_request(service: LocalService) -> None:
    """The application gets such a length from one of the servers."""
    request = Request.blank("/v1/p/stacks", method="POST")

    class Refusing(io.BytesIO):
        def read(self, *_size: Any) -> bytes:
            raise ValueError("invalid number of bytes to read")

    request.environ.update({"CONTENT_LENGTH": "-1", "wsgi.input": Refusing()})
    assert request.get_response(service.app).status_int == 400
