"""A forward proxy on loopback that records the calls of daemons to a real cloud.

Daemons that are started with ``environment`` send whatever they call over HTTP through it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.end_to_end.recorded_services import HttpReply, ThreadedHttpServer

HOST = "127.0.0.1"
TIMEOUT_S = 120
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}")
_HOP_BY_HOP = frozenset({"connection", "proxy-connection", "transfer-encoding", "keep-alive"})


class ForwardProxy:
    """A proxy that counts calls by port of the service, method and path without ids."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._server = ThreadedHttpServer(self._forward)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables of the daemons."""
        return {"http_proxy": f"http://{HOST}:{self._server.port}", "no_proxy": ""}

    def close(self) -> None:
        """Stop the proxy."""
        self._server.close()

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> HttpReply:
        url = urlsplit(handler.path)
        target = f"{url.path}?{url.query}" if url.query else url.path or "/"
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in _HOP_BY_HOP}
        connection = HTTPConnection(str(url.hostname), url.port or 80, timeout=TIMEOUT_S)
        try:
            connection.request(handler.command, target, body or None, headers)
            answered = connection.getresponse()
            reply = HttpReply(answered.status, _headers(answered), answered.read())
        finally:
            connection.close()
        self.counts[f"{url.port} {handler.command} {_ID.sub('ID', url.path)}"] += 1
        return reply


def _headers(answered: Any) -> dict[str, str]:
    dropped = _HOP_BY_HOP | {"content-length"}
    return {name: value for name, value in answered.getheaders() if name.lower() not in dropped}
