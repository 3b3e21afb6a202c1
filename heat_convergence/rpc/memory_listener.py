"""The listener of messages within one process, which waits for the next one.

oslo.messaging's own looks for messages every 50 ms, for which a chain of resources would wait
twice at each link. Installed by ``transport``; handles no message itself.
"""

from __future__ import annotations

import threading
import time
from typing import Any
from weakref import WeakSet

from oslo_messaging._drivers import base, impl_fake

# Of all listeners of this process: an exchange is replaced when any transport is cleaned up, and
# they are few.
_arrivals: WeakSet[threading.Event] = WeakSet()
_lock = threading.Lock()


class MemoryExchange(impl_fake.FakeExchange):  # type: ignore[misc]
    """An exchange that wakes all listeners when a message is delivered."""

    def deliver_message(self, *arguments: Any, **named: Any) -> None:
        """Deliver the message, and wake the listeners, of which one finds it."""
        super().deliver_message(*arguments, **named)
        with _lock:
            for arrival in _arrivals:
                arrival.set()


class MemoryListener(impl_fake.FakeListener):  # type: ignore[misc]
    """A listener that sleeps until a message arrives, or until it is stopped."""

    def __init__(self, exchange_manager: Any, targets: Any, pool: Any = None) -> None:
        super().__init__(exchange_manager, targets, pool)
        self._arrived = threading.Event()
        with _lock:
            _arrivals.add(self._arrived)

    @base.batch_poll_helper  # type: ignore[untyped-decorator]
    def poll(self, timeout: float | None = None) -> Any:
        """Return the next message, None after the timeout or when the listener is stopped."""
        until_s = None if timeout is None else time.monotonic() + timeout
        while True:
            # Cleared before looking: what comes after that ends the wait.
            self._arrived.clear()
            message = None if self._stopped.is_set() else self._take()
            if message is not None or self._stopped.is_set():
                return message
            left_s = None if until_s is None else until_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return None
            self._arrived.wait(left_s)

    def _take(self) -> Any:
        for target in self._targets:
            exchange = self._exchange_manager.get_exchange(target.exchange)
            context, message, replies, requeue = exchange.poll(target, self._pool)
            if message is not None:
                return impl_fake.FakeIncomingMessage(context, message, replies, requeue)
        return None

    def stop(self) -> None:
        """End the wait for messages."""
        super().stop()
        self._arrived.set()


def install() -> None:
    """Make the driver of messages in memory use this listener."""
    impl_fake.FakeExchange = MemoryExchange
    impl_fake.FakeListener = MemoryListener
