"""The transport of the ``transport_url`` option.

Decides which of oslo.messaging's defaults do not suit hints between daemons.
Called by ``cli``; sends nothing.
"""

from __future__ import annotations

import oslo_messaging
from oslo_config import cfg
from oslo_messaging._drivers.impl_rabbit import rabbit_opts
from oslo_messaging._metrics.client import oslo_messaging_metrics
from oslo_messaging._tracing.client import oslo_messaging_tracing

EXCHANGE = "heat-convergence"

# The module's own list is the only place where both a running service and the
# sample configuration see a changed default.
_RABBIT_DEFAULTS = {
    # Queues that outlive the loss of a broker node.
    "rabbit_quorum_queue": True,
    # How much one engine takes off a queue before it has begun any of it; without a
    # bound the first engine to start would hoard every job.
    "rabbit_qos_prefetch_count": 16,
}


def set_library_defaults() -> None:
    """Also called for the sample file."""
    cfg.set_defaults(rabbit_opts, **_RABBIT_DEFAULTS)


def create_transport(
    conf: cfg.ConfigOpts, *, url: str | None = None, exchange: str = EXCHANGE
) -> oslo_messaging.RPCTransport:
    """Connects to nothing yet.  Without ``url``, the option ``transport_url`` counts."""
    _prepare(conf, exchange)
    return oslo_messaging.get_rpc_transport(conf, url=url)


def create_notification_transport(conf: cfg.ConfigOpts) -> oslo_messaging.NotificationTransport:
    """Of ``[oslo_messaging_notifications] transport_url``, else as above."""
    _prepare(conf, EXCHANGE)
    return oslo_messaging.get_notification_transport(conf)


def _prepare(conf: cfg.ConfigOpts, exchange: str) -> None:
    set_library_defaults()
    oslo_messaging.set_transport_defaults(exchange)
    # The client reads these, but makes them known to the global configuration alone.
    conf.register_opts(oslo_messaging_metrics, group="oslo_messaging_metrics")
    conf.register_opts(oslo_messaging_tracing, group="oslo_messaging_tracing")
