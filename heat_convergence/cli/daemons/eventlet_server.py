"""The HTTP server of the API daemon on greenthreads: eventlet's own.

Used when the service runs on eventlet. Every connection has a greenthread, which costs a few
kilobytes; ``RequestSlots`` limits how many requests are at work. ``eventlet_protocol`` hands a
request on when it has arrived, and a response is complete before it is sent, so that a slow
client never holds a slot.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any

import eventlet
from eventlet import semaphore, wsgi
from eventlet.green import threading as green_threading

from heat_convergence.api.change_wait import WAIT_KEY, ChangeWait, RequestHeld
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.api.middleware.overload import OVERLOADED_KEY, is_always_served
from heat_convergence.cli.daemons.eventlet_protocol import BoundedHttpProtocol
from heat_convergence.cli.daemons.http_limits import (
    MAX_BYTES_IN_MEMORY,
    HttpLimits,
    allowed_connections,
)
from heat_convergence.cli.daemons.idle_connections import IdleConnections

LOG = logging.getLogger(__name__)
_CHUNK_BYTES = 64 * 1024
_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_CONNECTION_LOST = frozenset({errno.ECONNABORTED, errno.ECONNRESET, errno.EPIPE, errno.EPROTO})
_ACCEPT_PAUSE_S = 0.5


class RequestSlots:
    """WSGI middleware that lets a limited number of requests be at work."""

    def __init__(self, application: WsgiApplication, limits: HttpLimits) -> None:
        self._application = application
        self._slots = semaphore.Semaphore(limits.threads)
        self._queue_limit = limits.queued_requests
        self._waiting = 0
        self._held: set[ChangeWait] = set()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request in a slot; mark it when too many wait for one already."""
        if is_always_served(environ.get("PATH_INFO", "")):
            return self._application(environ, start_response)
        if self._slots.locked() and self._waiting >= self._queue_limit:
            environ[OVERLOADED_KEY] = True
            return self._application(environ, start_response)
        environ[WAIT_KEY] = ChangeWait()
        while True:
            self._acquire()
            try:
                return _complete(self._application(dict(environ), start_response))
            except RequestHeld as held:
                wait = held.wait
            finally:
                self._slots.release()
            self._hold(wait)

    def _hold(self, wait: ChangeWait) -> None:
        """Wait outside a slot until the request is to be handled again."""
        resumed = green_threading.Event()
        self._held.add(wait)
        try:
            wait.start(resumed.set)
            resumed.wait()
        finally:
            self._held.discard(wait)

    def end_waits(self) -> None:
        """Have the requests answered that wait for changes."""
        for wait in list(self._held):
            wait.end()

    def _acquire(self) -> None:
        self._waiting += 1
        try:
            self._slots.acquire()
        finally:
            self._waiting -= 1


class _StoredBody:
    """A response's body in a temporary file, which it closes."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        while data := self._file.read(_CHUNK_BYTES):
            yield data

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


def _complete(body: Iterable[bytes]) -> Iterable[bytes]:
    """Return a response's body that needs the application no more."""
    file: Any = SpooledTemporaryFile(MAX_BYTES_IN_MEMORY)  # noqa: SIM115  # closed when sent
    try:
        size = sum(file.write(data) for data in body)
    finally:
        close = getattr(body, "close", None)
        if close is not None:
            close()
    file.seek(0)
    return [file.read()] if size <= MAX_BYTES_IN_MEMORY else _StoredBody(file)


class _Listener:
    """A listening socket whose ``accept`` survives what one connection may cause.

    Eventlet's server would end with the first error.
    """

    def __init__(self, listener: Any, pool: Any, idle: IdleConnections) -> None:
        self._listener = listener
        self._pool = pool
        self._idle = idle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)

    def accept(self) -> tuple[Any, Any]:
        """Return the next connection, for which an idle one may have to make room."""
        while True:
            try:
                accepted: tuple[Any, Any] = self._listener.accept()
            except OSError as error:
                self._after_error(error)
            else:
                if self._pool.free() <= 0:
                    self._idle.close_longest_idle()
                _send_without_delay(accepted[0])
                return accepted

    def _after_error(self, error: OSError) -> None:
        if error.errno in _OUT_OF_RESOURCES:
            LOG.warning("connection not accepted: error=%(error)s", {"error": error})
            self._idle.close_longest_idle()
            eventlet.sleep(_ACCEPT_PAUSE_S)
        elif error.errno not in _CONNECTION_LOST:
            raise error


def _send_without_delay(connection: Any) -> None:
    """Have the end of a response sent at once.

    Nagle's algorithm holds it back until the client has acknowledged what came before, and a
    client delays that for 40 ms.
    """
    with suppress(OSError):  # the client has gone, which the next read finds
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class EventletApiServer:
    """A server like ``threaded_server.ThreadedApiServer``, on greenthreads."""

    def __init__(self, listener: socket.socket, app: WsgiApplication, limits: HttpLimits) -> None:
        self.bind_addr = listener.getsockname()[:2]
        self._app = RequestSlots(app, limits)
        self._limits = limits
        self._idle = IdleConnections()
        self._pool = eventlet.GreenPool(allowed_connections(limits.connections))
        self._listener = _Listener(listener, self._pool, self._idle)
        self._serving: Any = None

    def serve_in_background(self) -> None:
        """Serve in a greenthread of its own."""
        self._serving = eventlet.spawn(
            wsgi.server,
            self._listener,
            self._app,
            protocol=partial(BoundedHttpProtocol, limits=self._limits, idle=self._idle),
            custom_pool=self._pool,
            log=LOG,
            log_output=False,
            socket_timeout=self._limits.idle_timeout_s,
            debug=False,
        )

    def stop(self) -> None:
        """Accept no more connections, close idle ones, and wait for running requests."""
        if self._serving is None:
            return
        with eventlet.Timeout(self._limits.shutdown_timeout_s, False):
            self._serving.kill()
            self._app.end_waits()
            self._pool.waitall()
