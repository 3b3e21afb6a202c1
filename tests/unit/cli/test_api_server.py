"""The API daemon's server: answers on the parent's socket and lets requests end."""

from __future__ import annotations

import threading
import urllib.request

import pytest

from heat_convergence.cli.api_server import ApiServer, listen

WITHIN_S = 20


@pytest.fixture
def listener():
    listener = listen("127.0.0.1", 0, backlog=8)
    yield listener
    listener.close()


def get(server: ApiServer, path: str) -> bytes:
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

    server = ApiServer(listener, app, threads=2, drain_s=WITHIN_S)
    server.launch()
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
        listen("127.0.0.1", listener.getsockname()[1], backlog=1)
