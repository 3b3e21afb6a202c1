"""A TCP load balancer as operators put before a Galera cluster, for one client.

Sends connections to the first healthy node of its list.  When a node is not healthy any more, its
connections are closed, as HAProxy does with ``on-marked-down shutdown-sessions``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from types import TracebackType

from heat_convergence.testing.daemon_processes import free_port
from tests.clusters.galera import HOST, GaleraNode

CHECK_INTERVAL_S = 1.0
_CHUNK_BYTES = 65536


class HealthChecks:
    """The health of the nodes, asked of each in a thread of its own."""

    def __init__(self, nodes: Sequence[GaleraNode]) -> None:
        self._healthy = {node.port: True for node in nodes}
        self._listeners: list[Balancer] = []
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(node,), daemon=True) for node in nodes
        ]

    def add(self, balancer: Balancer) -> None:
        """Tell the balancer of nodes that are not healthy any more."""
        self._listeners.append(balancer)

    def is_healthy(self, node: GaleraNode) -> bool:
        """Return the result of the last check."""
        return self._healthy[node.port]

    def _watch(self, node: GaleraNode) -> None:
        while not self._ended.wait(CHECK_INTERVAL_S):
            healthy = node.is_synced()
            was, self._healthy[node.port] = self._healthy[node.port], healthy
            if was and not healthy:
                for balancer in self._listeners:
                    balancer.close_connections_to(node)

    def __enter__(self) -> HealthChecks:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


class Balancer:
    """A port of which each connection goes to the first healthy node."""

    def __init__(self, nodes: Sequence[GaleraNode], health: HealthChecks) -> None:
        self.port = free_port()
        self._nodes = list(nodes)
        self._health = health
        self._open: dict[int, set[socket.socket]] = {node.port: set() for node in nodes}
        self._lock = threading.Lock()
        self._listener = socket.create_server((HOST, self.port), backlog=512)
        health.add(self)
        threading.Thread(target=self._accept, daemon=True).start()

    def close_connections_to(self, node: GaleraNode) -> None:
        """End the connections to a node."""
        with self._lock:
            ends, self._open[node.port] = self._open[node.port], set()
        for end in ends:
            _end(end)

    def close(self) -> None:
        """End everything."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for node in self._nodes:
            self.close_connections_to(node)

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        for node in self._nodes:
            if not self._health.is_healthy(node):
                continue
            try:
                far = socket.create_connection((HOST, node.port), timeout=CHECK_INTERVAL_S)
            except OSError:
                continue
            far.settimeout(None)
            with self._lock:
                self._open[node.port] |= {near, far}
            pair = threading.Thread(target=self._copy, args=(far, near, node), daemon=True)
            pair.start()
            self._copy(near, far, node)
            return
        _end(near)

    def _copy(self, source: socket.socket, sink: socket.socket, node: GaleraNode) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                sink.sendall(data)
        for end in (source, sink):
            _end(end)
        with self._lock:
            self._open[node.port] -= {source, sink}


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
