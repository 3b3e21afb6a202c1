"""Options that all daemons share: node name, concurrency backend, keys, notifications.

Read by ``cli`` alone.
"""

from __future__ import annotations

import socket

from oslo_config import cfg

GROUP = None

CONCURRENCY_OPT = cfg.StrOpt(
    "concurrency",
    default="eventlet",
    choices=[
        ("eventlet", "greenthreads: many waiting requests with little memory"),
        ("threading", "native threads"),
    ],
    help="Concurrency backend of the worker processes.",
)

OPTS = [
    CONCURRENCY_OPT,
    cfg.HostAddressOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<hostname>",
        help="Name of this node in the list of services and in message targets.",
    ),
    cfg.MultiStrOpt(
        "auth_encryption_key",
        default=[],
        secret=True,
        help="Key of 32 or more random characters with which secrets are encrypted in the"
        " database. All daemons need the same keys. The option may be repeated: the first"
        " key encrypts, all keys decrypt, so that keys can be rotated.",
    ),
    cfg.URIOpt(
        "public_endpoint",
        schemes=["http", "https"],
        help="URL of the API as clients reach it, without version and project, such as"
        " https://cloud.example/orchestration. Links in responses begin with it. Without it"
        " they repeat the Host header of the request, which must then be a host name with an"
        " optional port; behind a proxy, see [oslo_middleware] enable_proxy_headers_parsing.",
    ),
    cfg.StrOpt(
        "environment_dir",
        default="/etc/heat-convergence/environment.d",
        help="Directory of environment files that are merged beneath the environment of every"
        " request.",
    ),
    cfg.IntOpt(
        "stabilization_window",
        default=0,
        min=0,
        max=86400,
        help="Seconds for which the resources of a root stack must have been healthy before its"
        " creation or update is complete, where no environment says otherwise; 0 for none."
        " Environments set it by resource_registry.resources.<name>.stabilization.",
    ),
    cfg.StrOpt(
        "default_publisher_id",
        sample_default="orchestration.<host>",
        help="Publisher id of notifications. They are sent when"
        " [oslo_messaging_notifications] driver is set.",
    ),
    cfg.StrOpt(
        "default_notification_level",
        default="INFO",
        choices=["AUDIT", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "SAMPLE"],
        ignore_case=True,
        help="Priority of notifications, which is the suffix of the name of their queue.",
    ),
    cfg.IntOpt(
        "periodic_interval",
        default=60,
        min=1,
        help="Seconds between two heartbeats in the list of services.",
    ),
    cfg.IntOpt(
        "template_cache_size",
        default=10,
        min=1,
        help="Approximate number of megabytes for the cache of parsed templates of a process. The"
        " most recently used templates need not be read and parsed again. An overcloud"
        " needs about seven.",
    ),
]
