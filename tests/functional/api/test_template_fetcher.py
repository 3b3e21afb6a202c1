"""Templates fetched by URL from a server on loopback; private addresses are refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.stacks.source.urlfetch import FetchLimits, fetch_url

PRIVATE_ALLOWED = FetchLimits(max_bytes=100, timeout_s=5, allow_private_addresses=True)
PRIVATE_REFUSED = FetchLimits(max_bytes=100, timeout_s=5)


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self._respond(302, b"", {"Location": "/template"})
        elif self.path == "/inside":
            self._respond(302, b"", {"Location": "http://inside.example/secret"})
        elif self.path == "/loop":
            self._respond(302, b"", {"Location": "/loop"})
        elif self.path == "/large":
            self._respond(200, b"x" * 101, {})
        elif self.path in ("/trickle", "/trickling-headers"):
            self._trickle(in_headers=self.path != "/trickle")
        elif self.path == "/binary":
            self._respond(200, b"\xff\xfe", {})
        elif self.path == "/template":
            self._respond(200, f"host: {self.headers['Host']}".encode(), {})
        else:
            self._respond(404, b"", {})

    def _trickle(self, *, in_headers: bool) -> None:
        """Send an endless response without a pause longer than the read timeout."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.0 200 OK\r\n")
            self.wfile.write(b"X: " if in_headers else b"\r\n")
            for _ in range(1000):
                self.wfile.write(b"x")
                time.sleep(0.02)

    def _respond(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def resolve_to_localhost(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def test_fetch_connects_to_the_checked_address_with_the_host_name(port: int) -> None:
    text = fetch_url(
        f"http://some.example:{port}/template",
        PRIVATE_ALLOWED,
        resolve_addresses=resolve_to_localhost,
    )
    assert text == f"host: some.example:{port}"


def test_fetch_follows_a_redirect(port: int) -> None:
    assert fetch_url(
        f"http://some.example:{port}/moved",
        PRIVATE_ALLOWED,
        resolve_addresses=resolve_to_localhost,
    ).startswith("host:")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/large", "larger than 100 bytes"),
        ("/loop", "more than 5 redirects"),
        ("/nothing", "answered 404"),
        ("/binary", "not UTF-8"),
    ],
)
def test_invalid_response_is_refused(port: int, path: str, message: str) -> None:
    with pytest.raises(HTTPBadRequest, match=message):
        fetch_url(
            f"http://some.example:{port}{path}",
            PRIVATE_ALLOWED,
            resolve_addresses=resolve_to_localhost,
        )


@pytest.mark.parametrize("path", ["/trickle", "/trickling-headers"])
def test_timeout_covers_all_reads_together(port: int, path: str) -> None:
    limits = FetchLimits(max_bytes=10_000, timeout_s=0.3, allow_private_addresses=True)
    with pytest.raises(HTTPBadRequest, match="took too long"):
        fetch_url(
            f"http://some.example:{port}{path}", limits, resolve_addresses=resolve_to_localhost
        )


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "http://", "template"])
def test_other_url_schemes_are_refused(url: str) -> None:
    with pytest.raises(HTTPBadRequest, match="must begin with http"):
        fetch_url(url, PRIVATE_ALLOWED)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "224.0.0.1",
        "100.64.0.1",
    ],
)
def test_private_addresses_are_refused(address: str) -> None:
    with pytest.raises(HTTPBadRequest, match="not a public one"):
        fetch_url(
            "http://some.example/x",
            PRIVATE_REFUSED,
            resolve_addresses=lambda host, port: [address],
        )


def test_host_with_one_private_address_is_refused() -> None:
    with pytest.raises(HTTPBadRequest, match="not a public one"):
        fetch_url(
            "http://a.example/",
            PRIVATE_REFUSED,
            resolve_addresses=lambda host, port: ["8.8.8.8", "127.0.0.1"],
        )


def test_target_of_a_redirect_is_checked(port: int) -> None:
    requested = []

    def resolve_addresses(host: str, port: int) -> list[str]:
        requested.append(host)
        return ["127.0.0.1"] if host == "some.example" else []

    with pytest.raises(HTTPBadRequest, match="no address"):
        fetch_url(
            f"http://some.example:{port}/inside",
            PRIVATE_ALLOWED,
            resolve_addresses=resolve_addresses,
        )
    assert requested == ["some.example", "inside.example"]
