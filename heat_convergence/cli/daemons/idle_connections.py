"""The idle connections of an eventlet server, in the order in which they became idle.

When no further connection may be open, the one that has been idle the longest gives up its
place. Used by ``eventlet_server`` and ``eventlet_protocol``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eventlet import greenio


class IdleConnections:
    """The connections of a process that wait for a request."""

    def __init__(self) -> None:
        self._sockets: OrderedDict[int, Any] = OrderedDict()

    @contextmanager
    def waiting(self, connection: Any) -> Iterator[None]:
        """Count a connection as idle within the block."""
        self._sockets[id(connection)] = connection
        try:
            yield
        finally:
            self._sockets.pop(id(connection), None)

    def close_longest_idle(self) -> None:
        """Close the connection that has been idle the longest, if there is one."""
        if self._sockets:
            _, connection = self._sockets.popitem(last=False)
            greenio.shutdown_safe(connection)
