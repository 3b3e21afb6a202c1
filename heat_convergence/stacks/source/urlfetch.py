"""Fetching of templates by URL, within limits and from no internal address.

Called when a body has ``template_url`` alone, and for nested templates.  Decides which
addresses may be reached: the name is resolved once, every address checked, and the
connection made to the checked address, so that a name that changes in between gains
nothing.  A connection is closed when its time is over, however many bytes still arrive.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import SplitResult, urljoin, urlsplit

from urllib3 import exceptions as http_exc
from urllib3.connection import HTTPConnection, HTTPSConnection

from heat_convergence.common import errors
from heat_convergence.template.parsing.url_policy import is_forbidden_ip

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES = 65_536
_PORTS = {"http": 80, "https": 443}
HostResolver = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of one request's fetches.

    Attributes:
        allow_private_addresses: whether URLs may name loopback, link-local and private
            addresses.
    """

    max_bytes: int
    timeout_s: float
    allow_private_addresses: bool = False


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def fetch_url(
    url: str, limits: FetchLimits, *, resolve_addresses: HostResolver = resolve_host
) -> str:
    """Return the document at ``url`` as text.

    Raises:
        HTTPBadRequest: it cannot be fetched, is too large or is no text.
    """
    ends_at = time.monotonic() + limits.timeout_s
    for _ in range(MAX_REDIRECTS + 1):
        try:
            connection, parts = _connection(url, limits, resolve_addresses, ends_at)
            with _time_limit(connection, ends_at):
                found = _request(url, connection, parts, limits)
        except (http_exc.HTTPError, HTTPException, OSError, ValueError) as error:
            _left_s(url, ends_at)
            raise _refused(url, str(error)) from error
        if isinstance(found, _Redirect):
            url = found.url
            continue
        _left_s(url, ends_at)  # a body that was cut off looks complete
        return _text(url, found)
    raise _refused(url, f"more than {MAX_REDIRECTS} redirects")


@dataclass(frozen=True, slots=True)
class _Redirect:
    url: str


def _connection(
    url: str, limits: FetchLimits, look_up: HostResolver, ends_at: float
) -> tuple[HTTPConnection, SplitResult]:
    """Return an unconnected connection to the checked address, under the host's name."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _refused(url, "the URL must begin with http:// or https:// and name a host")
    port = parts.port or _PORTS[parts.scheme]
    address = _address(url, parts.hostname, port, limits, look_up)
    timeout_s = _left_s(url, ends_at)
    if parts.scheme == "http":
        return HTTPConnection(address, port, timeout=timeout_s), parts
    host = parts.hostname
    secure = HTTPSConnection(
        address,
        port,
        timeout=timeout_s,
        assert_hostname=host,
        server_hostname=host,
        cert_reqs="CERT_REQUIRED",
    )
    return secure, parts


@contextmanager
def _time_limit(connection: HTTPConnection, ends_at: float) -> Iterator[None]:
    """Connect, with one time limit for all reads, which each have their own as well."""
    sockets: list[socket.socket] = []  # a response may take over the socket

    def shut_down() -> None:
        for each in (connection.sock, *sockets):
            if each is not None:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, ends_at - time.monotonic()), shut_down)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        if connection.sock is not None:
            sockets.append(connection.sock)
        yield
    finally:
        timer.cancel()
        connection.close()


def _request(
    url: str, connection: HTTPConnection, parts: SplitResult, limits: FetchLimits
) -> bytes | _Redirect:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    connection.request("GET", path, headers={"Host": host, "Accept": "*/*"}, preload_content=False)
    response = connection.getresponse()
    try:
        if response.status in _REDIRECTS and response.headers.get("Location"):
            return _Redirect(urljoin(url, response.headers["Location"]))
        if response.status != 200:
            raise _refused(url, f"the server answered {response.status}")
        body = bytearray()
        for chunk in response.stream(_CHUNK_BYTES, decode_content=False):
            body += chunk
            if len(body) > limits.max_bytes:
                raise _refused(url, f"it is larger than {limits.max_bytes} bytes")
        return bytes(body)
    finally:
        response.close()


def _address(url: str, host: str, port: int, limits: FetchLimits, look_up: HostResolver) -> str:
    addresses = look_up(host, port)
    if not addresses:
        raise _refused(url, "the name has no address")
    if not limits.allow_private_addresses and any(map(is_forbidden_ip, addresses)):
        raise _refused(url, "the address is not a public one")
    return addresses[0]


def _left_s(url: str, ends_at: float) -> float:
    left_s = ends_at - time.monotonic()
    if left_s <= 0:
        raise _refused(url, "it took too long")
    return left_s


def _text(url: str, body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise _refused(url, "it is not UTF-8 text") from error


def _refused(url: str, why: str) -> errors.HTTPBadRequest:
    return errors.HTTPBadRequest(
        f"Could not retrieve template: Failed to retrieve template from {url}: {why}."
    )
