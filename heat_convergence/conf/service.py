"""What all daemons share: who they are and on what they run.

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
        ("eventlet", "greenthreads; many waiting requests at little memory"),
        ("threading", "native threads"),
    ],
    help="What the daemons' workers run on.",
)

OPTS = [
    CONCURRENCY_OPT,
    cfg.HostAddressOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<hostname>",
        help="Name of this node in the list of services and on the bus.",
    ),
    cfg.MultiStrOpt(
        "auth_encryption_key",
        default=[],
        secret=True,
        help="Any text of 32 or more random characters, with which secrets are encrypted"
        " in the database.  All daemons need the same.  May be given several times: the"
        " first encrypts, all decrypt, so that keys can be changed.",
    ),
    cfg.StrOpt(
        "environment_dir",
        default="/etc/heat-convergence/environment.d",
        help="Directory whose files are environments that lie beneath every user's.",
    ),
    cfg.StrOpt(
        "default_publisher_id",
        sample_default="orchestration.<host>",
        help="Who notifications are from.  They are sent where"
        " [oslo_messaging_notifications] driver says how.",
    ),
    cfg.StrOpt(
        "default_notification_level",
        default="INFO",
        choices=["AUDIT", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "SAMPLE"],
        ignore_case=True,
        help="Priority of notifications, which is the end of their queue's name.",
    ),
    cfg.IntOpt(
        "periodic_interval",
        default=60,
        min=1,
        help="Seconds between two signs of life in the list of services.",
    ),
    cfg.IntOpt(
        "template_cache_size",
        default=128,
        min=1,
        help="Megabytes, about, that a process spends on parsed templates: those used last"
        " need not be read and parsed again.  An overcloud has ten.",
    ),
]
