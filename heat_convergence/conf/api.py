"""Options of the API daemons: addresses, workers and authentication.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "heat_api"
CFN_GROUP = "heat_api_cfn"

OPTS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="0.0.0.0",  # nosec B104  # tokens are required, or a loopback address
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
        help="Maximum number of requests that a worker process handles at once. Idle connections,"
        " and requests and responses that are being transferred, are not counted.",
    ),
    cfg.IntOpt(
        "max_queued_requests",
        default=256,
        min=0,
        help="Maximum number of requests that wait for a thread of a worker process. Further"
        " requests are answered 503 with Retry-After at once, health checks excepted.",
    ),
    cfg.IntOpt(
        "max_connections",
        default=4096,
        min=1,
        help="Maximum number of open connections of a worker process. At the limit, each new"
        " connection closes the one that has been idle the longest. Every connection needs two"
        " file descriptors at most; the process raises its limit on open files as far as the"
        " hard limit allows.",
    ),
    cfg.FloatOpt(
        "idle_timeout",
        default=60.0,
        min=1.0,
        help="Seconds without a request after which a connection is closed.",
    ),
    cfg.FloatOpt(
        "header_timeout",
        default=20.0,
        min=1.0,
        help="Seconds in which the head of a request must arrive.",
    ),
    cfg.FloatOpt(
        "body_timeout",
        default=60.0,
        min=1.0,
        help="Seconds in which the body of a request must arrive.",
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

CFN_OPTS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="0.0.0.0",  # nosec B104  # signatures are required, or a loopback address
        help="Address on which the CloudFormation API listens. With [heat_api] auth_strategy ="
        " noauth it must be a loopback address.",
    ),
    cfg.PortOpt("bind_port", default=8000, help="Port on which the CloudFormation API listens."),
    cfg.IntOpt(
        "workers",
        min=1,
        sample_default="<number of processors>",
        help="Number of worker processes of a daemon of the CloudFormation API. Its other limits"
        " are those of [heat_api].",
    ),
]
