"""The HTTP server of the API daemon: serves on the parent's socket and lets requests finish."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.daemons import api_daemon
from heat_convergence.cli.daemons.threaded_server import (
    ThreadedApiServer,
    create_listener,
    is_loopback,
)

TIMEOUT_S = 20


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    listener = create_listener("127.0.0.1", 0, backlog=8)
    yield listener
    listener.close()


def get(server: ThreadedApiServer, path: str) -> bytes:
    host, port = server.bind_addr
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=TIMEOUT_S) as response:
        return bytes(response.read())


def test_running_request_finishes_while_the_server_stops(listener: socket.socket) -> None:
    started, may_finish = threading.Event(), threading.Event()

    def app(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/slow":
            started.set()
            may_finish.wait(TIMEOUT_S)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    server = ThreadedApiServer(listener, app, threads=2, shutdown_timeout_s=TIMEOUT_S)
    server.serve_in_background()
    assert get(server, "/") == b"ok"

    responses: list[bytes] = []
    client = threading.Thread(target=lambda: responses.append(get(server, "/slow")))
    client.start()
    assert started.wait(TIMEOUT_S)
    stopper = threading.Thread(target=server.stop)
    stopper.start()
    may_finish.set()
    client.join(TIMEOUT_S)
    stopper.join(TIMEOUT_S)
    assert responses == [b"ok"]
    assert not stopper.is_alive()


def test_port_in_use_raises_at_once(listener: socket.socket) -> None:
    with pytest.raises(OSError, match="in use"):
        create_listener("127.0.0.1", listener.getsockname()[1], backlog=1)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("no.such.host.invalid", False),
    ],
)
def test_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_noauth_requires_a_loopback_address(tmp_path: Path) -> None:
    options = tmp_path / "open.conf"
    options.write_text("[heat_api]\nauth_strategy = noauth\nbind_host = 0.0.0.0\n")
    assert api_daemon.run_api(["--config-file", str(options)]) == 1
