"""The API daemon's server: answers on the parent's socket and lets requests end."""

from __future__ import annotations

import threading
import urllib.request

import pytest

from heat_convergence.cli.daemons import api_daemon
from heat_convergence.cli.daemons.threaded_server import (
    ThreadedApiServer,
    create_listener,
    is_loopback,
)

WITHIN_S = 20


@pytest.fixture
def listener():
    listener = create_listener("127.0.0.1", 0, backlog=8)
    yield listener
    listener.close()


def get(server: ThreadedApiServer, path: str) -> bytes:
    host, port = server.bind_addr
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=WITHIN_S) as answer:
        return answer.read()


def test_a_running_request_is_answered_while_the_server_stops(listener):
    begun, go_on = threading.Event(), threading.Event()

    def app(environ, start_response):
        if environ["PATH_INFO"] == "/slow":
            begun.set()
            go_on.wait(WITHIN_S)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    server = ThreadedApiServer(listener, app, threads=2, shutdown_timeout_s=WITHIN_S)
    server.serve_in_background()
    assert get(server, "/") == b"ok"

    answers: list[bytes] = []
    asking = threading.Thread(target=lambda: answers.append(get(server, "/slow")))
    asking.start()
    assert begun.wait(WITHIN_S)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    go_on.set()
    asking.join(WITHIN_S)
    stopping.join(WITHIN_S)
    assert answers == [b"ok"]
    assert not stopping.is_alive()


def test_a_port_that_is_taken_is_an_error_at_once(listener):
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
def test_what_is_loopback(host, expected):
    assert is_loopback(host) is expected


def test_without_authentication_only_loopback_is_bound(tmp_path):
    options = tmp_path / "open.conf"
    options.write_text("[heat_api]\nauth_strategy = noauth\nbind_host = 0.0.0.0\n")
    assert api_daemon.run_api(["--config-file", str(options)]) == 1
