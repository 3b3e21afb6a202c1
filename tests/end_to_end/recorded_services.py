"""Services of a cloud as daemons reach them, with every call recorded.

``RecordingProxies`` stands in front of a real cloud's endpoints; ``EmulatedCloud`` is a cloud
of its own.  Both record a call when the service has responded, and call ``CallLog.on_call``
before the response is sent.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import requests
from webob import Request, Response

from heat_convergence.testing.openstack.emulation import EmulatedResponse
from heat_convergence.testing.openstack.http_adapter import (
    SERVICE_ENDPOINTS,
    EmulatedHttpAdapter,
    create_emulation,
)
from tests.functional.clients.fake_keystone import FakeKeystone

HOST = "127.0.0.1"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}")
REQUEST_ID_HEADER = "X-Openstack-Request-Id"
# openstacksdk's name of a service → path of its endpoint in the catalog
_UNVERSIONED_PATHS = {
    name: SERVICE_ENDPOINTS[name][1].rpartition("/")[0] for name in ("image", "network")
}
_HOP_BY_HOP_HEADERS = frozenset(
    {"connection", "transfer-encoding", "content-length", "keep-alive"}
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call with its status; ``service`` is the type in the service catalog."""

    service: str
    method: str
    path: str
    status: int
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A response of HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def _ignore_call(call: RecordedCall) -> None:
    """Do nothing."""


@dataclass
class CallLog:
    """Calls in their order; ``on_call`` is called before the response to each is sent."""

    calls: list[RecordedCall] = field(default_factory=list)
    on_call: Callable[[RecordedCall], None] = _ignore_call

    def record(self, call: RecordedCall) -> None:
        """Add a call."""
        self.calls.append(call)
        self.on_call(call)

    @contextmanager
    def record_calls(self) -> Iterator[list[RecordedCall]]:
        """Yield a list that holds the calls of the block once it ends.

        Calls of Keystone are left out, because the library requests tokens by itself.
        """
        start = len(self.calls)
        recorded: list[RecordedCall] = []
        yield recorded
        recorded += [call for call in self.calls[start:] if call.service != "identity"]


class _QuietHttpServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a killed client closes its connection."""


class ThreadedHttpServer:
    """An HTTP server in threads, whose replies come from a function."""

    def __init__(self, response: Callable[[BaseHTTPRequestHandler, bytes], HttpReply]) -> None:
        class ReplyRequestHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _respond(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                reply = response(self, self.rfile.read(length))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(reply.body)

            def log_message(self, *_: Any) -> None:
                """Nothing: a test's output is its own."""

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
            setattr(ReplyRequestHandler, f"do_{method}", ReplyRequestHandler._respond)
        self._server = _QuietHttpServer((HOST, 0), ReplyRequestHandler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


class RecordingProxies:
    """Proxies of endpoints, by service type.

    Args:
        endpoints: URLs by service type.
        keep_host: Whether services see the proxy's address, so that the links in what they
            return lead to it.
    """

    def __init__(self, endpoints: Mapping[str, str], *, keep_host: bool = True) -> None:
        self.call_log = CallLog()
        self._left_out = _HOP_BY_HOP_HEADERS if keep_host else _HOP_BY_HOP_HEADERS | {"host"}
        self._server: list[ThreadedHttpServer] = []
        self.urls: dict[str, str] = {}
        for service_type, url in sorted(endpoints.items()):
            parts = urlsplit(url)
            server = ThreadedHttpServer(
                self._proxy_response(service_type, str(parts.hostname), parts.port or 80)
            )
            self._server.append(server)
            self.urls[service_type] = url.replace(parts.netloc, f"{HOST}:{server.port}", 1)

    def close(self) -> None:
        """Stop the proxies."""
        for server in self._server:
            server.close()

    def _proxy_response(
        self, service_type: str, host: str, port: int
    ) -> Callable[[BaseHTTPRequestHandler, bytes], HttpReply]:
        def response(handler: BaseHTTPRequestHandler, body: bytes) -> HttpReply:
            headers = {k: v for k, v in handler.headers.items() if k.lower() not in self._left_out}
            connection = HTTPConnection(host, port, timeout=120)
            try:
                connection.request(handler.command, handler.path, body or None, headers)
                answered = connection.getresponse()
                reply = HttpReply(
                    answered.status,
                    {
                        k: v
                        for k, v in answered.getheaders()
                        if k.lower() not in _HOP_BY_HOP_HEADERS
                    },
                    answered.read(),
                )
            finally:
                connection.close()
            self.call_log.record(
                RecordedCall(service_type, handler.command, handler.path, reply.status)
            )
            return reply

        return response


class KeystoneWithCatalog(FakeKeystone):
    """A fake Keystone whose service catalog lists the emulation's services."""

    def __init__(self) -> None:
        self.endpoints: dict[str, str] = {}
        super().__init__()

    def _handle(self, request: Request) -> Response:
        """Validate tokens, too, as the API's middleware does."""
        if request.method == "GET" and request.path.endswith("/auth/tokens"):
            known = self.tokens.get(request.headers["X-Subject-Token"])
            response = Response(status=404 if known is None else 200)
            response.json = {} if known is None else {"token": self.token_document(known)}
            return response
        return super()._handle(request)

    def token_document(self, token: dict[str, Any]) -> dict[str, Any]:
        """Return the token with the service catalog."""
        document = super().token_document(token)
        document["roles"].append({"id": "reader", "name": "reader"})  # implied by member
        document["catalog"] += [
            {
                "type": service_type,
                "name": service_type,
                "id": service_type,
                "endpoints": [
                    {
                        "interface": "public",
                        "region": "R",
                        "region_id": "R",
                        "url": url,
                        "id": service_type,
                    }
                ],
            }
            for service_type, url in self.endpoints.items()
        ]
        return document


class EmulatedCloud:
    """An emulated cloud that other processes reach, on the real clock.

    As in most clouds, the endpoints of the image and the network service have no version, so that
    clients read which ones there are.
    """

    def __init__(self) -> None:
        self.call_log = CallLog()
        self.emulation = create_emulation()
        self.keystone = KeystoneWithCatalog()
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._server = ThreadedHttpServer(self._respond)
        host = f"{HOST}:{self._server.port}"
        self._http_adapter = EmulatedHttpAdapter(self.emulation, host=host)
        self.keystone.endpoints.update(
            (service_type, f"http://{host}{_UNVERSIONED_PATHS.get(name, path)}")
            for name, (service_type, path, _) in SERVICE_ENDPOINTS.items()
            if name != "identity"
        )

    def record_everything(self) -> EveryCall:
        """Return a record of all calls from now on, those to Keystone included."""
        return EveryCall(self, len(self.call_log.calls), len(self.keystone.requests))

    def close(self) -> None:
        """Stop the servers."""
        self._server.close()
        self.keystone.close()

    def _respond(self, handler: BaseHTTPRequestHandler, body: bytes) -> HttpReply:
        request = requests.Request(
            handler.command, f"http://{HOST}{handler.path}", data=body or None
        ).prepare()
        path = urlsplit(handler.path).path
        with self._lock:
            self.emulation.now_s = time.monotonic() - self._started
            emulated = self._version_list(path) or self._http_adapter.respond(request)
        service_type = next(
            (
                service_type
                for service_type, base, _ in SERVICE_ENDPOINTS.values()
                if path.startswith(base) or base.startswith(f"{path}/")
            ),
            "none",
        )
        self.call_log.record(
            RecordedCall(
                service_type,
                handler.command,
                handler.path,
                emulated.status,
                handler.headers.get(REQUEST_ID_HEADER, ""),
            )
        )
        headers = {"Content-Type": "application/json", **emulated.headers}
        text = emulated.content
        return HttpReply(emulated.status, headers, text)

    def _version_list(self, path: str) -> EmulatedResponse | None:
        """Return the versions below an endpoint without a version."""
        for name, base in _UNVERSIONED_PATHS.items():
            if path.rstrip("/") == base:
                url = f"http://{HOST}:{self._server.port}{SERVICE_ENDPOINTS[name][1]}/"
                version = {
                    "id": SERVICE_ENDPOINTS[name][1].rpartition("/")[2],
                    "status": "CURRENT",
                    "links": [{"rel": "self", "href": url}],
                }
                return EmulatedResponse(200, {"versions": [version]})
        return None


@dataclass(frozen=True, slots=True)
class EveryCall:
    """The calls to an emulated cloud since a moment."""

    cloud: EmulatedCloud
    service_calls: int
    identity_calls: int

    def counts(self) -> Counter[str]:
        """Return the number of calls by service, method and path, with ids left out."""
        calls = [
            (call.service, call.method, call.path.partition("?")[0])
            for call in self.cloud.call_log.calls[self.service_calls :]
        ]
        identity = self.cloud.keystone.requests[self.identity_calls :]
        calls += [("identity", method, path) for method, path in identity]
        return Counter(
            f"{service} {method} {_ID.sub('ID', path)}" for service, method, path in calls
        )
