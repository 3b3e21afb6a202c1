"""Idle and slow connections cost no thread of the API; too many requests are refused at once."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.cli.daemons.http_limits import HttpLimits
from heat_convergence.cli.daemons.threaded_channels import BoundedDispatcher
from tests.functional.harness import LocalService
from tests.functional.http_servers import GREEN, NATIVE, ServedApplication, error_of

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTH = b"GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1/p/stacks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
THREADS = 2
SHORT_S = 0.2


@pytest.fixture(params=[NATIVE, GREEN])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def serving(backend: str, app: Any, **limits: Any) -> Iterator[ServedApplication]:
    served = ServedApplication(backend, app, HttpLimits(**{"threads": THREADS, **limits}))
    try:
        yield served
    finally:
        served.stop()


class Handlers:
    """An application whose requests to ``/held`` wait until the test lets them go on."""

    def __init__(self, service: LocalService) -> None:
        self._service = service
        self.release: Any = None
        self.at_work: list[Any] = []

    def __call__(self, environ: Any, start_response: Any) -> Any:
        if environ["PATH_INFO"] == "/held" and "heat_convergence.overloaded" not in environ:
            self.at_work.pop().set()
            self.release.wait(30)
            start_response("200 OK", [("Content-Length", "4")])
            return [b"held"]
        return self._service.app(environ, start_response)


class Channel:
    """A connection with one request, as far as the dispatcher of threads knows it."""

    def __init__(self) -> None:
        self.requests = [SimpleNamespace(error=None, path="/")]
        self.handled = threading.Event()
        self.is_overloaded = False

    def service(self) -> None:
        self.handled.set()


def hold_threads(handlers: Handlers, served: ServedApplication, count: int) -> list[Any]:
    """Return the connections of requests that hold all threads."""
    handlers.release = served.event_class()
    started = [served.event_class() for _ in range(count)]
    handlers.at_work = list(started)
    connections = [served.connect() for _ in range(count)]
    for connection in connections:
        connection.send(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
    assert all(event.wait(30) for event in started)
    return connections


def test_idle_connections_hold_no_thread(backend: str, service: LocalService) -> None:
    with serving(backend, service.app) as served:
        idle = [served.connect() for _ in range(100)]
        for connection in idle[:50]:  # kept alive after a request; the others sent none
            connection.send(GET)
            assert connection.receive()[0] == 300
        assert served.ask(GET)[0] == 300
        idle[0].send(GET)
        assert idle[0].receive()[0] == 300


@pytest.mark.parametrize(
    "part",
    [b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A", POST + b"Content-Length: 9\r\n\r\n{"],
    ids=["request line", "headers", "body"],
)
def test_slow_senders_hold_no_thread(backend: str, service: LocalService, part: bytes) -> None:
    with serving(backend, service.app) as served:
        for _ in range(50):
            served.connect().send(part)
        assert served.ask(GET)[0] == 300


def test_slow_readers_hold_no_thread(backend: str) -> None:
    size = 8 * 2**20

    def app(environ: Any, start_response: Any) -> Any:
        length = size if environ["PATH_INFO"] == "/large" else 2
        start_response("200 OK", [("Content-Length", str(length))])
        return (b"x" * min(2**16, length) for _ in range(max(length // 2**16, 1)))

    with serving(backend, app) as served:
        readers = [served.connect() for _ in range(10)]
        for reader in readers:
            reader.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            reader.socket.recv(1)
        assert served.ask(GET)[2] == b"xx"
        reader = served.connect()
        reader.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len(reader.receive()[2]) == size


def test_end_of_a_response_does_not_wait_for_an_acknowledgement(backend: str) -> None:
    def app(_environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [("Content-Length", "2")])
        options.extend(options_of_connections_to(client))
        return [b"ok"]

    options: list[int] = []
    with serving(backend, app) as served:
        connection = served.connect()
        client = connection.socket.getsockname()
        connection.send(GET)
        assert connection.receive()[0] == 200
    assert options == [1]


def options_of_connections_to(client: Any) -> Iterator[int]:
    """Yield TCP_NODELAY of this process's sockets whose other end is the client's."""
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it is closed meanwhile, or not connected
            if "socket:" not in os.readlink(f"/proc/self/fd/{entry}"):
                continue
            with socket.socket(fileno=os.dup(int(entry))) as each:
                if each.getpeername() == client:
                    yield each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_late_head_is_refused(backend: str, service: LocalService) -> None:
    with serving(backend, service.app, header_timeout_s=SHORT_S) as served:
        status, headers, body = served.ask(GET[:-2])
        assert (status, headers["connection"].lower()) == (408, "close")
        assert error_of(body)[0] == "HTTPRequestTimeout"


def test_head_that_trickles_is_refused(backend: str, service: LocalService) -> None:
    with serving(backend, service.app, header_timeout_s=SHORT_S) as served:
        connection = served.connect()
        connection.send(GET[:-2])
        trickle = served.start(_trickle, connection, b"X", served.event_class())
        assert b" 408 " in connection.receive_to_end()
        trickle.wait()


def test_late_body_is_refused(backend: str, service: LocalService) -> None:
    with serving(backend, service.app, body_timeout_s=SHORT_S) as served:
        status, _, body = served.ask(POST + b"Content-Length: 900\r\n\r\n{")
        assert (status, error_of(body)[0]) == (408, "HTTPRequestTimeout")


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"Content-Length: 999999999999\r\n\r\n", b"x" * 4096),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 4096),
        (b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: a\r\n" * 300),
    ],
    ids=["length", "chunks", "chunk line", "trailers"],
)
def test_endless_body_is_refused(
    backend: str, service: LocalService, head: bytes, part: bytes
) -> None:
    with serving(backend, service.app, body_bytes=2**16, body_timeout_s=1.0) as served:
        connection = served.connect()
        connection.send(POST + head)
        sender = served.start(_trickle, connection, part, None)
        try:
            status, _, body = connection.receive()
        except (ConnectionError, EOFError):
            pass  # the server does not wait until the client has read the refusal
        else:
            assert status in (400, 408, 413), body
        connection.close()
        sender.wait()
        assert served.ask(GET)[0] == 300


@pytest.mark.parametrize(
    "lines",
    [b"0" * 2**18, b"1\r\nx\r\n" * 2**16, b"0\r\n" + b"X-A: b\r\n" * 2**15],
    ids=["long line", "chunks of one byte", "trailers"],
)
def test_lines_of_a_chunked_body_are_bounded(
    backend: str, service: LocalService, lines: bytes
) -> None:
    """Each costs processor time that other requests need."""
    with serving(backend, service.app, body_timeout_s=5.0) as served:
        connection = served.connect()
        try:
            connection.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + lines)
            status = connection.receive()[0]
        except (ConnectionError, EOFError):
            status = 400  # refused before it was sent to its end
        assert status == 400
        assert served.ask(GET)[0] == 300


def _trickle(connection: Any, data: bytes, pause: Any) -> None:
    """Send the same bytes, with pauses or without, until the server closes the connection."""
    try:
        while True:
            connection.send(data)
            if pause is not None:
                pause.wait(SHORT_S / 20)
    except OSError:
        return


def test_connection_that_is_idle_for_too_long_is_closed(
    backend: str, service: LocalService
) -> None:
    with serving(backend, service.app, idle_timeout_s=1.0) as served:
        silent, kept = served.connect(), served.connect()
        kept.send(GET)
        assert kept.receive()[0] == 300
        assert silent.receive_to_end() == kept.receive_to_end() == b""


def test_requests_beyond_the_queue_are_refused_at_once(
    backend: str, service: LocalService
) -> None:
    handlers = Handlers(service)
    with serving(backend, handlers, queued_requests=0) as served:
        held = hold_threads(handlers, served, THREADS)
        status, headers, body = served.ask(GET)
        assert status == 503
        assert int(headers["retry-after"]) > 0
        assert headers["x-openstack-request-id"].startswith("req-")
        assert error_of(body)[0] == "Unavailable"
        assert served.ask(HEALTH)[0] == 200
        handlers.release.set()
        assert [connection.receive()[2] for connection in held] == [b"held"] * THREADS
        assert served.ask(GET)[0] == 300


def test_threads_that_are_starting_count_as_free() -> None:
    started = threading.Event()

    class Starting(BoundedDispatcher):
        def handler_thread(self, thread_no: int) -> None:
            started.wait()
            super().handler_thread(thread_no)

    dispatcher = Starting(HttpLimits(threads=THREADS, queued_requests=1))
    channels = [Channel() for _ in range(THREADS + 2)]
    for channel in channels:
        dispatcher.add_task(channel)
    started.set()
    assert all(channel.handled.wait(30) for channel in channels)
    assert [channel.is_overloaded for channel in channels] == [False] * (THREADS + 1) + [True]
    dispatcher.shutdown()


def test_requests_in_the_queue_are_answered(backend: str, service: LocalService) -> None:
    handlers = Handlers(service)
    with serving(backend, handlers, queued_requests=20) as served:
        held = hold_threads(handlers, served, THREADS)
        waiting = [served.connect() for _ in range(20)]
        for connection in waiting:
            connection.send(GET)
        assert served.ask(HEALTH)[0] == 200
        handlers.release.set()
        assert {connection.receive()[0] for connection in held + waiting} == {200, 300}


def test_new_connection_replaces_the_longest_idle_one(backend: str, service: LocalService) -> None:
    with serving(backend, service.app, connections=3) as served:
        oldest, *others = [served.connect() for _ in range(3)]
        assert served.ask(GET)[0] == 300
        assert oldest.receive_to_end() == b""
        for connection in others:
            connection.send(GET)
            assert connection.receive()[0] == 300


def test_client_that_goes_away_frees_its_thread(backend: str, service: LocalService) -> None:
    handlers = Handlers(service)
    with serving(backend, handlers) as served:
        for connection in hold_threads(handlers, served, THREADS):
            connection.close()
        handlers.release.set()
        assert served.ask(GET)[0] == 300


def test_running_request_finishes_while_the_server_stops(
    backend: str, service: LocalService
) -> None:
    handlers = Handlers(service)
    with serving(backend, handlers) as served:
        idle = served.connect()
        held = hold_threads(handlers, served, THREADS)
        stopping = served.start(served.stop_serving)
        assert idle.receive_to_end() == b""
        handlers.release.set()
        assert [connection.receive()[2] for connection in held] == [b"held"] * THREADS
        stopping.wait()


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9.9\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n0123456789",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n00",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    ],
    ids=[
        "TLS",
        "no path",
        "version",
        "long path",
        "long header",
        "many headers",
        "no colon",
        "negative length",
        "length no number",
        "two lengths",
        "coding before chunked",
        "coding with a control character",
    ],
)
def test_malformed_request_is_refused(
    backend: str, service: LocalService, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(backend, service.app, header_timeout_s=1.0) as served:
        connection = served.connect()
        try:
            connection.send(data)
            response = connection.receive_to_end()
        except ConnectionError:  # refused before it was sent to its end
            response = b""
        assert response == b"" or response.split()[1][:1] in (b"4", b"5"), response
        assert served.ask(GET)[0] == 300
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
