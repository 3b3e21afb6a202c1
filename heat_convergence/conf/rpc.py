"""How messages travel.

Messages are hints, so what does not arrive soon is dropped and swept up later.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "rpc"

OPTS = [
    cfg.IntOpt(
        "send_retries",
        default=1,
        min=0,
        help="How often sending is repeated while the broker is away.",
    ),
    cfg.FloatOpt(
        "quiet_time",
        default=5.0,
        min=0.0,
        help="Seconds after a failure to send in which nothing is tried again, so that no "
        "request waits for an absent broker; the sweep sends what was left out.",
    ),
]
