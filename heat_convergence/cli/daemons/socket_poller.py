"""Waiting for many sockets at once, at a cost that grows with events and not with sockets.

waitress's own loop looks at every connection each time that one of them has an event. Used by
``threaded_server`` alone.
"""

from __future__ import annotations

import select
from typing import Any

_READ = select.EPOLLIN | select.EPOLLPRI


class SocketPoller:
    """The sockets of waitress's channels, and the events that each waits for."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._events: dict[int, int] = {}

    def update(self, fileno: int | None, channel: Any) -> None:
        """Wait for the events that a channel now wants; None is a closed channel's number."""
        if fileno is None:
            return
        # A listening socket is never written to.
        writes = channel.writable() and not channel.accepting
        requested = (_READ if channel.readable() else 0) | (select.EPOLLOUT if writes else 0)
        if not requested:
            # Without events a hang-up would still be reported, again and again.
            self.forget(fileno)
        elif fileno not in self._events:
            self._epoll.register(fileno, requested)
        elif self._events[fileno] != requested:
            self._epoll.modify(fileno, requested)
        if requested:
            self._events[fileno] = requested

    def forget(self, fileno: int | None) -> None:
        """Wait for no event of a socket."""
        if fileno is not None and self._events.pop(fileno, None) is not None:
            self._epoll.unregister(fileno)

    def wait(self, timeout_s: float) -> list[tuple[int, int]]:
        """Return file numbers and events, as soon as there are any."""
        return self._epoll.poll(timeout_s)

    def close(self) -> None:
        """Close the poller, but none of the sockets."""
        self._epoll.close()
