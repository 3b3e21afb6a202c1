"""The services of a cloud as daemons reach them: every call counted, any answer held up.

``RecordingProxies`` stands in front of a real cloud's endpoints, ``EmulatedCloud`` is a cloud
of its
own.  Both note calls where they are answered, which is at the service, and tell
``after`` of each before the answer goes on its way.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import requests
from webob import Request, Response

from heat_convergence.testing.openstack.http_adapter import (
    SERVICE_ENDPOINTS,
    EmulatedHttpAdapter,
    create_emulation,
)
from tests.unit.clients.fake_keystone import FakeKeystone

HOST = "127.0.0.1"
_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was answered; ``service_auth`` is its type in the catalogue."""

    service: str
    method: str
    path: str
    status: int


@dataclass(frozen=True, slots=True)
class HttpReply:
    status: int
    headers: Mapping[str, str]
    body: bytes


def _nothing(call: RecordedCall) -> None:
    """Nobody wants to know."""


@dataclass
class CallLog:
    """What was called, in order; ``after`` is told of each call before its answer is."""

    calls: list[RecordedCall] = field(default_factory=list)
    on_call: Callable[[RecordedCall], None] = _nothing

    def record(self, call: RecordedCall) -> None:
        self.calls.append(call)
        self.on_call(call)

    @contextmanager
    def record_calls(self) -> Iterator[list[RecordedCall]]:
        """The calls from here on, identity's left out: tokens are the library's."""
        start, found = len(self.calls), []
        yield found
        found += [call for call in self.calls[start:] if call.service != "identity"]


class _Threads(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: who was killed hangs up."""


class ThreadedHttpServer:
    """An HTTP server in threads, whose answers ``answer`` gives."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler, bytes], HttpReply]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                reply = answer(self, self.rfile.read(length))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(reply.body)

            def log_message(self, *_: Any) -> None:
                """Nothing: a test's output is its own."""

        for verb in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
            setattr(Handler, f"do_{verb}", Handler._any)
        self._server = _Threads((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class RecordingProxies:
    """``urls``: type of service → the endpoint that is to be called through a front."""

    def __init__(self, endpoints: Mapping[str, str]) -> None:
        self.call_log = CallLog()
        self._served: list[ThreadedHttpServer] = []
        self.urls: dict[str, str] = {}
        for kind, url in sorted(endpoints.items()):
            parts = urlsplit(url)
            served = ThreadedHttpServer(
                self._answerer(kind, str(parts.hostname), parts.port or 80)
            )
            self._served.append(served)
            self.urls[kind] = url.replace(parts.netloc, f"{HOST}:{served.port}", 1)

    def close(self) -> None:
        for served in self._served:
            served.close()

    def _answerer(
        self, kind: str, host: str, port: int
    ) -> Callable[[BaseHTTPRequestHandler, bytes], HttpReply]:
        def answer(handler: BaseHTTPRequestHandler, body: bytes) -> HttpReply:
            # The host that was asked for goes on: services build their links with it.
            headers = {k: v for k, v in handler.headers.items() if k.lower() not in _HOP}
            connection = HTTPConnection(host, port, timeout=120)
            try:
                connection.request(handler.command, handler.path, body or None, headers)
                answered = connection.getresponse()
                reply = HttpReply(
                    answered.status,
                    {k: v for k, v in answered.getheaders() if k.lower() not in _HOP},
                    answered.read(),
                )
            finally:
                connection.close()
            self.call_log.record(RecordedCall(kind, handler.command, handler.path, reply.status))
            return reply

        return answer


class KeystoneWithCatalog(FakeKeystone):
    """Lists the services of an emulation."""

    def __init__(self) -> None:
        self.endpoints: dict[str, str] = {}
        super().__init__()

    def _handle(self, request: Request) -> Response:
        """Whose token it is, too, as the API asks."""
        if request.method == "GET" and request.path.endswith("/auth/tokens"):
            known = self.tokens.get(request.headers["X-Subject-Token"])
            answer = Response(status=404 if known is None else 200)
            answer.json = {} if known is None else {"token": self.token_document(known)}
            return answer
        return super()._handle(request)

    def token_document(self, token: dict[str, Any]) -> dict[str, Any]:
        found = super().token_document(token)
        found["roles"].append({"id": "reader", "name": "reader"})  # which member implies
        found["catalog"] += [
            {
                "type": kind,
                "name": kind,
                "id": kind,
                "endpoints": [
                    {
                        "interface": "public",
                        "region": "R",
                        "region_id": "R",
                        "url": url,
                        "id": kind,
                    }
                ],
            }
            for kind, url in self.endpoints.items()
        ]
        return found


class EmulatedCloud:
    """An emulation that processes reach, whose time is ours."""

    def __init__(self) -> None:
        self.call_log = CallLog()
        self.emulation = create_emulation()
        self.keystone = KeystoneWithCatalog()
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._served = ThreadedHttpServer(self._answer)
        host = f"{HOST}:{self._served.port}"
        self._wire = EmulatedHttpAdapter(self.emulation, host=host)
        self.keystone.endpoints.update(
            (kind, f"http://{host}{path}")
            for name, (kind, path, _) in SERVICE_ENDPOINTS.items()
            if name != "identity"
        )

    def close(self) -> None:
        self._served.close()
        self.keystone.close()

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> HttpReply:
        request = requests.Request(
            handler.command, f"http://{HOST}{handler.path}", data=body or None
        ).prepare()
        with self._lock:
            self.emulation.now_s = time.monotonic() - self._started
            told = self._wire.respond(request)
        path = urlsplit(handler.path).path
        kind = next(
            (kind for kind, base, _ in SERVICE_ENDPOINTS.values() if path.startswith(base)), "none"
        )
        self.call_log.record(RecordedCall(kind, handler.command, handler.path, told.status))
        headers = {"Content-Type": "application/json", **told.headers}
        text = b"" if told.body is None else json.dumps(told.body).encode()
        return HttpReply(told.status, headers, text)
