"""Options of the watch, which compares complete stacks with the cloud.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "drift"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=True,
        help="Whether observers keep reading the resources of complete stacks and show where they "
        "differ from their templates.",
    ),
    cfg.FloatOpt(
        "interval",
        default=15.0,
        min=1.0,
        help="Seconds between two reads of the resources of one type in one project while some of "
        "them change. Each read is one list call, whatever the number of stacks.",
    ),
    cfg.FloatOpt(
        "interval_max",
        default=60.0,
        min=1.0,
        help="Maximum number of seconds between two reads. The interval doubles up to this while "
        "nothing changes.",
    ),
]
