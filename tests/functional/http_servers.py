"""Both HTTP servers of the API daemon in this process, and raw connections to them."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import eventlet
from eventlet.green import socket as green_socket
from eventlet.green import threading as green_threading

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.cli.daemons.eventlet_server import EventletApiServer
from heat_convergence.cli.daemons.http_limits import HttpLimits
from heat_convergence.cli.daemons.threaded_server import ThreadedApiServer, create_listener

NATIVE, GREEN = "native", "green"
TIMEOUT_S = 30


class Connection:
    """A client's connection, with a time limit for every wait."""

    def __init__(self, sockets: Any, address: Any) -> None:
        self.socket = sockets.create_connection(address)
        self.socket.settimeout(TIMEOUT_S)
        self._received = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (lower case) and body of the next response."""
        while b"\r\n\r\n" not in self._received:
            self._receive_more()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = int(headers.get("content-length", 0))
        while len(self._received) < length:
            self._receive_more()
        body, self._received = self._received[:length], self._received[length:]
        return int(lines[0].split()[1]), headers, body

    def receive_to_end(self) -> bytes:
        """Return what comes until the server closes the connection."""
        while data := self.socket.recv(65536):
            self._received += data
        return self._received

    def _receive_more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the server has closed the connection")
        self._received += data

    def close(self) -> None:
        self.socket.close()


class ServedApplication:
    """An application behind one of the servers.

    Attributes:
        event_class: Class of events that handlers on the server may wait for.
        address: Where the server listens.
    """

    def __init__(self, backend: str, app: WsgiApplication, limits: HttpLimits) -> None:
        self.is_green = backend == GREEN
        self.event_class: Any = (green_threading if self.is_green else threading).Event
        listener: Any = (
            eventlet.listen(("127.0.0.1", 0), backlog=4096)
            if self.is_green
            else create_listener("127.0.0.1", 0, backlog=4096)
        )
        self._listener = listener
        self.address = listener.getsockname()
        server_class: Any = EventletApiServer if self.is_green else ThreadedApiServer
        self._server = server_class(listener, app, limits)
        self._server.serve_in_background()
        self._connections: list[Connection] = []

    def connect(self) -> Connection:
        connection = Connection(green_socket if self.is_green else socket, self.address)
        self._connections.append(connection)
        return connection

    def ask(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send bytes on a connection of their own, and return the first response."""
        connection = self.connect()
        connection.send(data)
        try:
            return connection.receive()
        finally:
            connection.close()

    def start(self, function: Any, *args: Any) -> Any:
        """Run a client in the background; ``wait()`` on what is returned."""
        if self.is_green:
            return eventlet.spawn(function, *args)
        return _Thread(function, args)

    def stop(self) -> None:
        """Stop the server, so that no request is left at work."""
        for connection in self._connections:
            connection.close()
        self._server.stop()
        self._listener.close()

    def stop_serving(self) -> None:
        """Stop the server while connections are open."""
        self._server.stop()


class _Thread:
    def __init__(self, function: Any, args: Any) -> None:
        self._results: list[Any] = []
        self._thread = threading.Thread(
            target=lambda: self._results.append(function(*args)), daemon=True
        )
        self._thread.start()

    def wait(self) -> Any:
        self._thread.join(TIMEOUT_S)
        return self._results[0]


def error_of(body: bytes) -> tuple[str, str]:
    """Return type and message of an error envelope."""
    error = json.loads(body)["error"]
    return error["type"], error["message"]


def accepts_connections(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
