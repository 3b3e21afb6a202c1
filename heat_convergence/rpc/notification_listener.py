"""Listeners for the notifications of other services.

Decides where they connect and how their queue is declared. A notification is acknowledged
whatever becomes of it, and its payload is passed on unread. Called by ``cli``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import oslo_messaging
from oslo_config import cfg

from heat_convergence.rpc.transport import create_notification_transport, notification_url

Json = Any
Receive = Callable[[Json, Json, Json], None]
"""Function of the event type, the payload and the project of the acting user."""

_RABBIT = frozenset({"rabbit", "kombu"})
# Exchanges belong to the other services, whose defaults these are: a broker refuses to declare
# an exchange that exists with another durability.
_RABBIT_DEFAULTS = {"rabbit_quorum_queue": "false", "amqp_durable_queues": "false"}
_THREADS = 1  # a notification is only taken note of


class _Endpoint:
    """The priorities that services send what is of interest with."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive

    def info(
        self,
        ctxt: Mapping[str, Json],
        publisher_id: Json,
        event_type: Json,
        payload: Json,
        metadata: Json,
    ) -> None:
        """Pass a notification on."""
        self._receive(event_type, payload, _project_of(ctxt))

    error = info


def _project_of(context: Json) -> Json:
    """Return the project of the user whose request has caused a notification."""
    if not isinstance(context, Mapping):
        return ""
    return context.get("project_id") or context.get("tenant") or ""


class ServiceListener:
    """A listener at one broker and virtual host.

    Args:
        conf: The configuration.
        url: The URL of the broker; empty for that of the service's own notifications.
        receive: Receives each notification, in a thread of the listener.
    """

    def __init__(self, conf: cfg.ConfigOpts, url: str, receive: Receive) -> None:
        options = conf.notification_listener
        self._transport = create_notification_transport(conf, parse_url(conf, url))
        self._server = oslo_messaging.get_notification_listener(
            self._transport,
            notification_targets(options.exchanges, options.topics),
            [_Endpoint(receive)],
            pool=options.pool,
        )

    def start(self) -> None:
        """Connect and listen; blocks while no broker answers."""
        with ExitStack() as on_failure:
            on_failure.callback(self._transport.cleanup)
            self._server.start(override_pool_size=_THREADS)
            on_failure.pop_all()

    def stop(self) -> None:
        """Listen no more."""
        self._server.stop()
        self._server.wait()
        self._transport.cleanup()


def notification_targets(
    exchanges: Sequence[str], topics: Sequence[str]
) -> list[oslo_messaging.Target]:
    """Return every topic at every exchange: a queue of a pool has no others."""
    return [
        oslo_messaging.Target(exchange=exchange, topic=topic)
        for exchange in exchanges
        for topic in topics
    ]


def parse_url(conf: cfg.ConfigOpts, url: str) -> oslo_messaging.TransportURL:
    """Return the URL of a broker with the options of its queues and exchanges."""
    found = notification_url(conf, url)
    if found.transport.split("+")[0] in _RABBIT:
        found.query = {**_RABBIT_DEFAULTS, **found.query}
    return found
