"""A template named by URL: fetched within limits, from nowhere inside.

Called by the controllers when a body has ``template_url`` alone.  Decides which
addresses may be reached: the name is resolved once, every address checked, and
the connection made to the checked address, so that a name which changes its mind
in between gains nothing.  Raises ``HTTPBadRequest``.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import urllib3
from urllib3 import exceptions as http_exc

from heat_convergence.common import errors
from heat_convergence.template.addresses import is_forbidden_address

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES = 65_536
_PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """``private`` lets URLs name loopback, link-local and private addresses."""

    max_bytes: int
    timeout_s: float
    private: bool = False


def resolve(host: str, port: int) -> list[str]:
    """The addresses behind a name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def fetch(url: str, limits: FetchLimits, *, look_up: Resolve = resolve) -> str:
    """The document at ``url`` as text."""
    ends_at = time.monotonic() + limits.timeout_s
    for _ in range(MAX_REDIRECTS + 1):
        answer = _get(url, limits, look_up, ends_at)
        try:
            if answer.status in _REDIRECTS and answer.headers.get("Location"):
                url = urljoin(url, answer.headers["Location"])
                continue
            if answer.status != 200:
                raise _refused(url, f"the server answered {answer.status}")
            return _text(url, _body(url, answer, limits, ends_at))
        finally:
            answer.close()
    raise _refused(url, f"more than {MAX_REDIRECTS} redirects")


def _get(url: str, limits: FetchLimits, look_up: Resolve, ends_at: float) -> Any:
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _refused(url, "the URL must begin with http:// or https:// and name a host")
    try:
        port = parts.port or _PORTS[parts.scheme]
        address = _address(url, parts.hostname, port, limits, look_up)
        pool = _pool(parts.scheme, parts.hostname, address, port)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        host = parts.netloc.rpartition("@")[2]
        timeout = urllib3.Timeout(total=_left_s(url, ends_at))
        return pool.urlopen(
            "GET", path, headers={"Host": host, "Accept": "*/*"}, timeout=timeout,
            redirect=False, retries=False, preload_content=False,
        )
    except (http_exc.HTTPError, OSError, ValueError) as error:
        raise _refused(url, str(error)) from error


def _address(
    url: str, host: str, port: int, limits: FetchLimits, look_up: Resolve
) -> str:
    addresses = look_up(host, port)
    if not addresses:
        raise _refused(url, "the name has no address")
    if not limits.private and any(map(is_forbidden_address, addresses)):
        raise _refused(url, "the address is not a public one")
    return addresses[0]


def _pool(scheme: str, host: str, address: str, port: int) -> Any:
    """Connects to the checked address and asks for the host by name."""
    if scheme == "http":
        return urllib3.HTTPConnectionPool(address, port)
    return urllib3.HTTPSConnectionPool(
        address, port, assert_hostname=host, server_hostname=host, cert_reqs="CERT_REQUIRED"
    )


def _body(url: str, answer: Any, limits: FetchLimits, ends_at: float) -> bytes:
    body = bytearray()
    try:
        for chunk in answer.stream(_CHUNK_BYTES):
            body += chunk
            if len(body) > limits.max_bytes:
                raise _refused(url, f"it is larger than {limits.max_bytes} bytes")
            _left_s(url, ends_at)
    except (http_exc.HTTPError, OSError) as error:
        raise _refused(url, str(error)) from error
    return bytes(body)


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
    return errors.HTTPBadRequest(f"Could not retrieve template {url}: {why}.")
