"""The message transport of the ``transport_url`` option.

Decides which defaults of oslo.messaging do not suit hints between daemons. Called by ``cli``;
sends nothing.
"""

from __future__ import annotations

import oslo_messaging
from oslo_config import cfg
from oslo_messaging._drivers.impl_rabbit import rabbit_opts
from oslo_messaging._metrics.client import oslo_messaging_metrics
from oslo_messaging._tracing.client import oslo_messaging_tracing

EXCHANGE = "heat-convergence"

# Only in the module's own list do both a running service and the sample configuration see
# a changed default.
_RABBIT_DEFAULTS = {
    # Queues survive the loss of a broker node.
    "rabbit_quorum_queue": True,
    # Messages that one engine takes off a queue before it has started them; without a limit
    # the first engine to start would take every job.
    "rabbit_qos_prefetch_count": 16,
}


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
    return oslo_messaging.get_rpc_transport(conf, url=url)


def create_notification_transport(conf: cfg.ConfigOpts) -> oslo_messaging.NotificationTransport:
    """Return the transport of notifications: their own URL, else ``transport_url``."""
    _register_options(conf, EXCHANGE)
    return oslo_messaging.get_notification_transport(conf)


def _register_options(conf: cfg.ConfigOpts, exchange: str) -> None:
    set_library_defaults()
    oslo_messaging.set_transport_defaults(exchange)
    # The client reads these, but registers them with the global configuration only.
    conf.register_opts(oslo_messaging_metrics, group="oslo_messaging_metrics")
    conf.register_opts(oslo_messaging_tracing, group="oslo_messaging_tracing")
