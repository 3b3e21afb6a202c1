"""Connections to services are reused, and open requests are limited."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth
from openstack.config.cloud_region import from_session

from heat_convergence.clients import auth
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter, SdkCloudClient
from heat_convergence.clients.settings import ClientSettings

LIMIT = 6
REQUESTS = 60


class ConnectionCountingServer:
    """A server that counts connections and requests open at once."""

    def __init__(self) -> None:
        service = self
        self.connections = self.open = self.max_open = 0
        self._lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                with service._lock:
                    service.connections += 1

            def respond(self) -> None:
                with service._lock:
                    service.open += 1
                    service.max_open = max(service.max_open, service.open)
                body = b'{"networks": []}'
                with service._lock:
                    service.open -= 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        setattr(Handler, "do_GET", Handler.respond)  # noqa: B010  # the library's name
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v2.0"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[ConnectionCountingServer]:
    service = ConnectionCountingServer()
    yield service
    service.close()


def test_connections_are_reused_and_limited(service: ConnectionCountingServer) -> None:
    session = auth.create_session(ClientSettings(), NoAuth(endpoint=service.url))
    connection = SimpleNamespace(
        network=Adapter(session, endpoint_override=service.url),
        session=session,
        config=from_session(session),
    )
    cloud = SdkCloudClient("k", "p", lambda: connection, RequestLimiter(LIMIT))

    def send(_number: int) -> int:
        return cloud.send(CloudRequest("network", "GET", "/networks")).status

    with ThreadPoolExecutor(3 * LIMIT) as pool:
        assert set(pool.map(send, range(REQUESTS))) == {200}
    assert service.max_open <= LIMIT
    assert service.connections <= LIMIT
