"""The HTTP server of the API daemon on greenthreads: eventlet's own.

Used where the service runs on eventlet.  The server for native threads
(``api_server``) waits for idle connections in a selector that, once patched,
does not see a connection handed back to it: each further request on a kept
connection would wait up to half a second.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from functools import partial
from typing import Any

import eventlet
from eventlet import wsgi

from heat_convergence.api.middleware.faults import WsgiApplication

LOG = logging.getLogger(__name__)
_IDLE_S = 60  # a kept connection without a request is closed


def _with_an_end(
    app: WsgiApplication, environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    """A body in chunks ends by itself, which eventlet does not say; an application that is
    not told takes it for none."""
    if environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        environ["wsgi.input_terminated"] = True
    return app(environ, start_response)


class EventletApiServer:
    """As ``api_server.ThreadedApiServer``: serves until ``stop``, which lets requests end."""

    def __init__(
        self,
        listener: socket.socket,
        app: WsgiApplication,
        *,
        threads: int,
        shutdown_timeout_s: float,
    ) -> None:
        self.bind_addr = listener.getsockname()[:2]
        self._listener = listener
        self._app = app
        self._pool = eventlet.GreenPool(threads)
        self._drain_s = shutdown_timeout_s
        self._serving: Any = None

    def serve_in_background(self) -> None:
        """Serve in a greenthread of its own."""
        self._serving = eventlet.spawn(
            wsgi.server,
            self._listener,
            partial(_with_an_end, self._app),
            custom_pool=self._pool,
            log=LOG,
            log_output=False,
            socket_timeout=_IDLE_S,
            debug=False,
        )

    def stop(self) -> None:
        """Take no more connections, close idle ones, wait for running requests."""
        if self._serving is None:
            return
        with eventlet.Timeout(self._drain_s, False):
            self._serving.kill()
            self._pool.waitall()
