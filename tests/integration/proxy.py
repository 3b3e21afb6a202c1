"""A TCP proxy that can be cut: a service that is away, without stopping it for others.

While cut it refuses connections, as a host does on which nothing listens; those
that were open are reset.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

from sqlalchemy.engine import make_url

from heat_convergence.testing.daemon_processes import free_port

HOST = "127.0.0.1"
_CHUNK_BYTES = 65536


class Proxy:
    """A TCP proxy between the clients of ``port`` and the service of a URL."""

    def __init__(self, url: str, *, default_port: int) -> None:
        self._real = make_url(url)
        self._target = (self._real.host or HOST, self._real.port or default_port)
        self.port = free_port()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The service's URL, by way of here."""
        through = self._real.set(host=HOST, port=self.port)
        return through.render_as_string(hide_password=False)

    def restore(self) -> None:
        self._listener = socket.create_server((HOST, self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        if self._listener is not None:
            # Closing alone would leave the thread in accept, and the port open.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            open_now, self._open = self._open, set()
        for end in open_now:
            _end(end)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _address = listener.accept()
            except OSError:
                return  # cut
            far = socket.create_connection(self._target)
            with self._lock:
                self._open |= {near, far}
            if self._listener is not listener:
                self.cut()
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                sink.sendall(data)
        for end in (source, sink):
            _end(end)
        with self._lock:
            self._open -= {source, sink}

    def __enter__(self) -> Proxy:
        self.restore()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
