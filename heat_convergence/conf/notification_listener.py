"""Options of the listener for notifications of other services.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "notification_listener"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether observers listen to the notifications of other services, and read what has "
        "changed at once. Without them, and while no broker answers, observers read as often as "
        "the other options say.",
    ),
    cfg.MultiStrOpt(
        "transport_urls",
        default=[],
        secret=True,
        help="URLs of the brokers and virtual hosts that the other services send notifications "
        "to, one in each line. Empty means that of [oslo_messaging_notifications] transport_url, "
        "else that of transport_url. Queues and exchanges are as durable as the services declare "
        "them by default; where [oslo_messaging_rabbit] amqp_durable_queues or "
        "rabbit_quorum_queue is true in the services, add that to the URL, as in "
        "rabbit://broker:5672/?rabbit_quorum_queue=true.",
    ),
    cfg.ListOpt(
        "exchanges",
        default=["nova", "neutron", "cinder", "openstack", "glance", "keystone", "octavia"],
        help="Exchanges that the other services send notifications to: their options "
        "control_exchange. Cinder's default is openstack.",
    ),
    cfg.ListOpt(
        "topics",
        default=["notifications", "versioned_notifications"],
        help="Topics of the notifications. Nova sends its versioned ones to a topic of their own.",
    ),
    cfg.StrOpt(
        "pool",
        default="heat-convergence-notifications",
        help="Name of the pool that all observers share. Each pool receives every notification "
        "once; with RabbitMQ it is the name of a queue.",
    ),
]
