"""Options of the API daemon: address, workers and authentication.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "heat_api"

OPTS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="0.0.0.0",
        help="Address on which the API listens. With auth_strategy = noauth it must be a loopback"
        " address.",
    ),
    cfg.PortOpt("bind_port", default=8004, help="Port on which the API listens."),
    cfg.IntOpt(
        "backlog",
        default=4096,
        min=1,
        help="Maximum number of connections waiting to be accepted.",
    ),
    cfg.IntOpt(
        "workers",
        min=1,
        sample_default="<number of processors>",
        help="Number of worker processes of an API daemon.",
    ),
    cfg.IntOpt(
        "threads",
        default=32,
        min=1,
        help="Maximum number of requests that a worker process handles at once.",
    ),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "keystonemiddleware validates the token of every request"),
            ("noauth", "no tokens: every caller is an administrator; only on a loopback address"),
        ],
        help="How requests to the API are authenticated.",
    ),
    cfg.BoolOpt(
        "access_log",
        default=True,
        help="Log every request at INFO: method, path, status, milliseconds, request id and"
        " project.",
    ),
]
