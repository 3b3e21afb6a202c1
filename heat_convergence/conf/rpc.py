"""Options of the messages between the daemons.

Messages are hints: one that cannot be delivered soon is dropped, and a sweep repeats it.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "rpc"

OPTS = [
    cfg.IntOpt(
        "send_retries",
        default=1,
        min=0,
        help="Number of times sending a message is retried while the broker is unreachable.",
    ),
    cfg.FloatOpt(
        "quiet_time",
        default=5.0,
        min=0.0,
        help="Seconds after a failed send in which no message is sent, so that no request waits "
        "for an unreachable broker. The sweep of the observer sends what was left out.",
    ),
]
