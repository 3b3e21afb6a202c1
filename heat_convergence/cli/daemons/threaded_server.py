"""The HTTP server of the API daemon on native threads: waitress.

One thread waits for all connections and receives their requests; a request takes a worker
thread only when it has arrived, and gives it back before its response is sent. The socket is
opened before the workers are forked, so that they share it and a reload refuses no connection.
"""

from __future__ import annotations

import socket
import threading
import time
from ipaddress import ip_address
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.cli.daemons.http_limits import (
    MAX_BYTES_IN_MEMORY,
    MAX_HEAD_BYTES,
    HttpLimits,
    allowed_connections,
)
from heat_convergence.cli.daemons.socket_poller import SocketPoller
from heat_convergence.cli.daemons.threaded_channels import BoundedChannel, BoundedDispatcher
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog

_POLL_S = 1
_PAUSE_S = 1.0
# The listener and the trigger are counted, and the new connection that an idle one must make
# room for.
_NOT_CONNECTIONS = 3
# Of the data and the lines of a chunked body: the parser checks the exact size of a body.
_CHUNK_OVERHEAD = 2
_UNLIMITED = 2**40


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


class _ConnectionLoop(TcpWSGIServer):  # type: ignore[misc]  # untyped library
    """The thread that waits for all connections."""

    channel_class = BoundedChannel

    def __init__(self, listener: socket.socket, app: WsgiApplication, limits: HttpLimits) -> None:
        self.limits = limits
        self.poller = SocketPoller()
        self.changed_channels: set[Any] = set()
        self._stopping = threading.Event()
        super().__init__(
            app,
            map={},
            _sock=listener,
            bind_socket=False,
            dispatcher=BoundedDispatcher(limits),
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            adj=_adjustments(limits),
        )

    def run(self) -> None:
        """Serve until ``stop``, and then until no request is at work."""
        # All connections need this thread.
        boundary = ErrorBoundary(BoundaryName.CONNECTION, ErrorLog())
        self.poller.update(self.trigger._fileno, self.trigger)
        while not (self._stopping.is_set() and not self.active_channels):
            if boundary.contain(self._run_round) is not None:
                self._stopping.wait(_PAUSE_S)

    def _run_round(self) -> None:
        """Wait for events, and process them."""
        self.poller.update(self._fileno, self)
        self._update_channels()
        for fileno, events in self.poller.wait(_POLL_S):
            channel = self._map.get(fileno)
            if channel is None:
                continue
            wasyncore.readwrite(channel, events)
            if isinstance(channel, BoundedChannel):
                self.changed_channels.add(channel)
        if self._stopping.is_set():
            self._close_idle_channels()

    def _update_channels(self) -> None:
        """Wait for what the channels want that had events or that worker threads may change."""
        changed, self.changed_channels = self.changed_channels, set()
        for channel in changed:
            # Asked first: a worker thread that ends after it is noticed in the next round.
            if channel.is_busy:
                self.changed_channels.add(channel)
            self.poller.update(channel._fileno, channel)

    def request_stop(self) -> None:
        """Accept no more connections, and end when the requests at work are answered."""
        self._stopping.set()
        self.pull_trigger()

    def readable(self) -> bool:
        """Return whether another connection may be opened."""
        if self._stopping.is_set():
            return False
        can_accept = bool(super().readable())
        if self.in_connection_overflow:
            self._close_longest_idle_channel()
        return can_accept

    def maintenance(self, now: float) -> None:
        """Close idle connections, and refuse requests that do not arrive in time."""
        super().maintenance(now)
        now_s = time.monotonic()
        for channel in list(self.active_channels.values()):
            channel.refuse_if_late(now_s)
        self.changed_channels.update(self.active_channels.values())

    def _close_idle_channels(self) -> None:
        for channel in list(self.active_channels.values()):
            channel.will_close = channel.will_close or channel.is_idle
            if channel.held is not None:
                channel.held.end()
        self.changed_channels.update(self.active_channels.values())

    def _close_longest_idle_channel(self) -> None:
        idle = [channel for channel in self.active_channels.values() if channel.is_idle]
        if idle:
            longest = min(idle, key=lambda channel: channel.last_activity)
            longest.will_close = True
            self.changed_channels.add(longest)

    def close(self) -> None:
        """Close the trigger and every connection, but not the listener, which others share."""
        for channel in list(self.active_channels.values()):
            channel.handle_close()
        self.del_channel()
        self.trigger.close()
        self.poller.close()


def _adjustments(limits: HttpLimits) -> Any:
    adjustments = Adjustments(
        sockets=[],
        threads=limits.threads,
        ident="heat-convergence",
        backlog=socket.SOMAXCONN,
        connection_limit=allowed_connections(limits.connections) + _NOT_CONNECTIONS,
        cleanup_interval=_POLL_S,
        channel_timeout=max(round(limits.idle_timeout_s), 1),
        max_request_header_size=MAX_HEAD_BYTES,
        max_request_body_size=limits.body_bytes * _CHUNK_OVERHEAD + 2 * MAX_HEAD_BYTES,
        inbuf_overflow=MAX_BYTES_IN_MEMORY,
        outbuf_overflow=MAX_BYTES_IN_MEMORY,
        outbuf_high_watermark=_UNLIMITED,  # so that no thread waits for a client to read
        log_socket_errors=False,
        clear_untrusted_proxy_headers=False,  # oslo.middleware decides about them
    )
    adjustments.body_bytes = limits.body_bytes  # read by ``BoundedRequestParser``
    return adjustments


class ThreadedApiServer:
    """A server for one application; ``stop`` lets running requests finish."""

    def __init__(self, listener: socket.socket, app: WsgiApplication, limits: HttpLimits) -> None:
        self.bind_addr = listener.getsockname()[:2]
        self._limits = limits
        self._has_stopped = False
        self._loop = _ConnectionLoop(listener, app, limits)
        self._thread = threading.Thread(target=self._loop.run, name="api", daemon=True)

    def serve_in_background(self) -> None:
        """Serve in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Accept no more connections, close idle ones, and wait for running requests."""
        if self._has_stopped:
            return
        self._has_stopped = True
        if self._thread.ident is not None:
            self._loop.request_stop()
            self._thread.join(self._limits.shutdown_timeout_s)
        self._loop.task_dispatcher.shutdown(timeout=1)
        self._loop.close()
