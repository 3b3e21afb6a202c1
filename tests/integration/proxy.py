"""Ports whose connections are passed on: a proxy that can be cut, and what a load balancer needs.

While cut, a proxy refuses connections, as a host does on which nothing listens; those that were
open are reset.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from sqlalchemy.engine import make_url

from heat_convergence.testing.daemon_processes import free_port

HOST = "127.0.0.1"
_CHUNK_BYTES = 65536

Address = tuple[str, int]
ConnectToTarget = Callable[[], tuple[Address, socket.socket] | None]


class TcpRelay:
    """A port of this machine that passes connections on.

    Args:
        connect: Connects to a target and returns its address, too; None refuses the client.
    """

    def __init__(self, connect: ConnectToTarget) -> None:
        self.port = free_port()
        self._connect = connect
        self._listener: socket.socket | None = None
        self._open: dict[Address, set[socket.socket]] = {}
        self._lock = threading.Lock()

    def open(self) -> None:
        """Accept connections."""
        self._listener = socket.create_server((HOST, self.port), backlog=512)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Accept no more connections, and end those that are open."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # Closing alone would leave the thread in accept, and the port open.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for target in list(self._open):
            self.end_connections(target)

    def end_connections(self, target: Address) -> None:
        """End the connections to a target."""
        with self._lock:
            ends = self._open.pop(target, set())
        for end in ends:
            _end(end)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _address = listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(near, listener), daemon=True).start()

    def _serve(self, near: socket.socket, listener: socket.socket) -> None:
        found = None
        with contextlib.suppress(OSError):
            found = self._connect()
        if found is None:
            _end(near)
            return
        target, far = found
        with self._lock:
            self._open.setdefault(target, set()).update((near, far))
        if self._listener is not listener:  # closed meanwhile
            self.end_connections(target)
        threading.Thread(target=self._copy, args=(far, near, target), daemon=True).start()
        self._copy(near, far, target)

    def _copy(self, source: socket.socket, sink: socket.socket, target: Address) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                sink.sendall(data)
        for end in (source, sink):
            _end(end)
        with self._lock:
            self._open.get(target, set()).difference_update((source, sink))


class Proxy:
    """A TCP proxy between the clients of ``port`` and the service of a URL."""

    def __init__(self, url: str, *, default_port: int) -> None:
        self._real = make_url(url)
        self._target = (self._real.host or HOST, self._real.port or default_port)
        self._relay = TcpRelay(self._connect)

    @property
    def url(self) -> str:
        """The service's URL, by way of here."""
        through = self._real.set(host=HOST, port=self._relay.port)
        return through.render_as_string(hide_password=False)

    def restore(self) -> None:
        self._relay.open()

    def cut(self) -> None:
        self._relay.close()

    def _connect(self) -> tuple[Address, socket.socket]:
        return self._target, socket.create_connection(self._target)

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
