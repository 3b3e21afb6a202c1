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

from tests.clusters.galera import HOST, GaleraNode
from tests.integration.proxy import Address, TcpRelay

CHECK_INTERVAL_S = 1.0


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
        self._nodes = list(nodes)
        self._health = health
        self._relay = TcpRelay(self._connect)
        self._relay.open()
        health.add(self)

    @property
    def port(self) -> int:
        """The port for clients."""
        return self._relay.port

    def close_connections_to(self, node: GaleraNode) -> None:
        """End the connections to a node."""
        self._relay.end_connections((HOST, node.port))

    def close(self) -> None:
        """End everything."""
        self._relay.close()

    def _connect(self) -> tuple[Address, socket.socket] | None:
        for node in self._nodes:
            if not self._health.is_healthy(node):
                continue
            target = (HOST, node.port)
            with contextlib.suppress(OSError):
                far = socket.create_connection(target, timeout=CHECK_INTERVAL_S)
                far.settimeout(None)
                return target, far
        return None
