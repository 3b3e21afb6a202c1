"""Where and how the API daemon listens.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "heat_api"

OPTS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="0.0.0.0",
        help="Address that the API listens on; with auth_strategy = noauth, a loopback one.",
    ),
    cfg.PortOpt("bind_port", default=8004, help="Port that the API listens on."),
    cfg.IntOpt("backlog", default=4096, min=1, help="Connections that may wait to be accepted."),
    cfg.IntOpt(
        "workers",
        min=1,
        sample_default="<number of processors>",
        help="Processes of an API daemon.",
    ),
    cfg.IntOpt("threads", default=32, min=1, help="Requests that a process answers at once."),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "tokens are checked by keystonemiddleware"),
            ("noauth", "no tokens; everyone is an administrator, from this machine alone"),
        ],
        help="Who may use the API.",
    ),
]
