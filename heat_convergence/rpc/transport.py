"""The message transport of the ``transport_url`` option.

Decides which defaults of oslo.messaging do not suit hints between daemons. Called by ``cli``;
sends nothing.
"""

from __future__ import annotations

import os

import oslo_messaging
from amqp.exceptions import AccessRefused, NotAllowed
from oslo_concurrency import lockutils
from oslo_config import cfg
from oslo_messaging._drivers.amqp import amqp_opts
from oslo_messaging._drivers.impl_rabbit import rabbit_opts
from oslo_messaging._metrics.client import oslo_messaging_metrics
from oslo_messaging._tracing.client import oslo_messaging_tracing
from oslo_messaging.notify.notifier import _notifier_opts as notifier_opts

from heat_convergence.rpc import memory_listener, rabbit_listener

EXCHANGE = "heat-convergence"
_LOCK_FOLDER = "/dev/shm"  # nosec B108  # the library has its counter there; holds no data

# Only in the module's own list do both a running service and the sample configuration see
# a changed default.
_RABBIT_DEFAULTS = {
    # Queues survive the loss of a broker node.
    "rabbit_quorum_queue": True,
    # Messages that one engine takes off a queue before it has started them; without a limit
    # the first engine to start would take every job.
    "rabbit_qos_prefetch_count": 16,
    # A node whose host hangs is left for another one after so many seconds; until then every
    # message sent to it blocks its sender.
    "heartbeat_timeout_threshold": 15,
}


def lock_path() -> str:
    """Return the folder of locks between the processes of this host."""
    return os.environ.get("OSLO_LOCK_PATH", _LOCK_FOLDER)


def set_library_defaults() -> None:
    """Change defaults of oslo.messaging, also for the sample configuration."""
    cfg.set_defaults(rabbit_opts, **_RABBIT_DEFAULTS)


def create_transport(
    conf: cfg.ConfigOpts, *, url: str | None = None, exchange: str = EXCHANGE
) -> oslo_messaging.RPCTransport:
    """Return the RPC transport, not connected yet.

    Args:
        conf: The configuration.
        url: URL instead of the option ``transport_url``.
        exchange: Name of the exchange.
    """
    _register_options(conf, exchange)
    rabbit_listener.install()
    memory_listener.install()
    return oslo_messaging.get_rpc_transport(conf, url=url)


def create_notification_transport(
    conf: cfg.ConfigOpts, url: oslo_messaging.TransportURL | None = None
) -> oslo_messaging.NotificationTransport:
    """Return the transport of notifications: their own URL, else ``transport_url``.

    Args:
        conf: The configuration.
        url: URL instead of these options.
    """
    _register_options(conf, EXCHANGE)
    memory_listener.install()
    return oslo_messaging.get_notification_transport(conf, url)


def notification_url(conf: cfg.ConfigOpts, url: str = "") -> oslo_messaging.TransportURL:
    """Return a URL, or that of the service's own notifications."""
    _register_options(conf, EXCHANGE)
    conf.register_opts(notifier_opts, group="oslo_messaging_notifications")
    text = url or conf.oslo_messaging_notifications.transport_url
    return oslo_messaging.TransportURL.parse(conf, text)


def configured_drivers(conf: cfg.ConfigOpts) -> frozenset[str]:
    """Return the drivers of ``transport_url`` and of the notifications' own URL."""
    register_notification_options(conf)
    notifications_url = conf.oslo_messaging_notifications.transport_url
    urls = [oslo_messaging.TransportURL.parse(conf)]
    if notifications_url:
        urls.append(oslo_messaging.TransportURL.parse(conf, notifications_url))
    return frozenset(url.transport for url in urls)


def is_refusal(error: Exception) -> bool:
    """Return whether the broker refuses the user, the password or the virtual host."""
    return isinstance(error, AccessRefused | NotAllowed)


def register_notification_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of notifications, which oslo.messaging does with the first notifier."""
    conf.register_opts(notifier_opts, group="oslo_messaging_notifications")


def register_rabbit_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of RabbitMQ, which its driver does when it is used first."""
    set_library_defaults()
    conf.register_opts([*amqp_opts, *rabbit_opts], group="oslo_messaging_rabbit")


def _register_options(conf: cfg.ConfigOpts, exchange: str) -> None:
    set_library_defaults()
    # The queue manager takes a file lock, whose folder it would read from the global
    # configuration; its counter is in this folder, too.
    lockutils.set_defaults(lock_path())
    oslo_messaging.set_transport_defaults(exchange)
    # The client reads these, but registers them with the global configuration only.
    conf.register_opts(oslo_messaging_metrics, group="oslo_messaging_metrics")
    conf.register_opts(oslo_messaging_tracing, group="oslo_messaging_tracing")
