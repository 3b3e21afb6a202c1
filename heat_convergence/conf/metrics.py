"""Options of the metrics that daemons serve to Prometheus.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "metrics"


def _port(daemon: str, default: int) -> cfg.Opt:
    return cfg.PortOpt(
        f"{daemon.replace('-', '_')}_port",
        default=default,
        help=f"Port of the metrics of heat-convergence-{daemon}; 0 for none. A second daemon of"
        " this name on a host needs another one.",
    )


OPTS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="127.0.0.1",
        help="Address on which metrics are served, without authentication. They contain numbers"
        " of stacks and calls, and no names of users, projects or stacks.",
    ),
    _port("api", 9854),
    _port("engine", 9855),
    _port("observer", 9856),
    _port("api-cfn", 9857),
]
