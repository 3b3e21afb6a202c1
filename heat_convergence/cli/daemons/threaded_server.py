"""The HTTP server of the API daemon: cheroot on a socket that the parent process opened.

The socket is opened before the workers are forked, so that they share it and a reload refuses
no connection. Runs on greenthreads and on native threads.
"""

from __future__ import annotations

import logging
import math
import socket
import threading
from ipaddress import ip_address
from typing import Any

from cheroot import wsgi

from heat_convergence.api.middleware.faults import WsgiApplication

LOG = logging.getLogger(__name__)


def create_listener(host: str, port: int, *, backlog: int) -> socket.socket:
    """Return a listening TCP socket; port 0 uses a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=backlog)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a socket on the address or name."""
    try:
        found = socket.getaddrinfo(host, None)
    except socket.gaierror:
        return False
    return all(ip_address(address[4][0]).is_loopback for address in found)


class ThreadedApiServer(wsgi.Server):
    """A server for one application; ``stop`` lets running requests finish."""

    def __init__(
        self,
        listener: socket.socket,
        app: WsgiApplication,
        *,
        threads: int,
        shutdown_timeout_s: float,
    ) -> None:
        super().__init__(
            listener.getsockname()[:2],
            app,
            numthreads=threads,
            request_queue_size=socket.SOMAXCONN,
            shutdown_timeout=math.ceil(shutdown_timeout_s),
        )
        self._listener = listener
        self._thread = threading.Thread(target=self._serve, name="api", daemon=True)

    def bind(self, family: int, type: int, proto: int = 0) -> socket.socket:  # noqa: A002
        """Return the open socket instead of a new one, as cheroot's hook."""
        self.socket = self._listener
        return self._listener

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        """Write a message of cheroot to the log."""
        LOG.log(level, "%s", msg, exc_info=traceback)

    def serve_in_background(self) -> None:
        """Serve in a thread of its own; ready when this returns."""
        self.prepare()
        self._thread.start()

    def _serve(self) -> Any:
        self.serve()
