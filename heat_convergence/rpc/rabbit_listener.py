"""The listener of RPC messages from RabbitMQ, which wakes up for messages alone.

Decides how long a listener waits for the broker. Installed by ``transport``; handles no message
itself.
"""

from __future__ import annotations

from oslo_messaging._drivers import amqpdriver


class RpcListener(amqpdriver.RpcAMQPListener):  # type: ignore[misc]
    """A listener that does not look for acknowledgements of other threads.

    The library's own wakes up 1, 2, 4, 8, … ms after each message, up to 5 s, as a notification
    may be acknowledged by then. An RPC message is acknowledged before it is handed on, so that
    this listener waits for the longest time at once.
    """

    @property
    def _current_timeout(self) -> float:
        """The longest wait, in seconds, after which the heartbeat is checked at the latest."""
        return float(amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX)

    @_current_timeout.setter
    def _current_timeout(self, _timeout_s: float) -> None:
        """Ignore the shorter wait that the library sets after each message."""


def install() -> None:
    """Make the driver of RabbitMQ use this listener for RPC messages."""
    amqpdriver.RpcAMQPListener = RpcListener
