"""The HTTP server of the API daemon on greenthreads: eventlet's own.

Used when the service runs on eventlet. The server for native threads (``threaded_server``)
waits for idle connections in a selector that, once patched, does not notice a connection that
is handed back to it: each further request on a kept connection would wait up to half a second.
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
_IDLE_S = 60  # after which a connection without a request is closed


def _with_input_terminated(
    app: WsgiApplication, environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    """Call the application with ``wsgi.input_terminated`` for chunked bodies.

    A chunked body ends by itself, which eventlet does not report; without the flag
    applications read no body.
    """
    if environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        environ["wsgi.input_terminated"] = True
    return app(environ, start_response)


class EventletApiServer:
    """A server like ``threaded_server.ThreadedApiServer``, on greenthreads."""

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
        self._shutdown_timeout_s = shutdown_timeout_s
        self._serving: Any = None

    def serve_in_background(self) -> None:
        """Serve in a greenthread of its own."""
        self._serving = eventlet.spawn(
            wsgi.server,
            self._listener,
            partial(_with_input_terminated, self._app),
            custom_pool=self._pool,
            log=LOG,
            log_output=False,
            socket_timeout=_IDLE_S,
            debug=False,
        )

    def stop(self) -> None:
        """Accept no more connections, close idle ones, and wait for running requests."""
        if self._serving is None:
            return
        with eventlet.Timeout(self._shutdown_timeout_s, False):
            self._serving.kill()
            self._pool.waitall()
