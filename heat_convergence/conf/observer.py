"""Options of the observer: workers and sweeps.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "observer"

OPTS = [
    cfg.IntOpt(
        "workers",
        default=1,
        min=1,
        help="Number of worker processes of an observer daemon.",
    ),
    cfg.IntOpt(
        "threads",
        default=8,
        min=1,
        help="Maximum number of messages that a worker process takes at once. Two transactions "
        "at once process what they name, of sixteen stacks at most each.",
    ),
    cfg.IntOpt(
        "poll_threads",
        default=32,
        min=1,
        help="Maximum number of observations that a worker process has open at once. Each reads "
        "the resources of one project from one service of a region; no service and no project "
        "takes more than two thirds of them.",
    ),
    cfg.FloatOpt(
        "poll_timeout",
        default=30.0,
        min=1.0,
        help="Maximum number of seconds that the requests of one observation take together.",
    ),
    cfg.IntOpt(
        "sweep_limit",
        default=500,
        min=1,
        help="Maximum number of rows that one sweep handles; the next sweep continues.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=3.0,
        min=0.1,
        help="Maximum number of seconds between two sweeps for lost jobs and for resources whose "
        "next poll is due.",
    ),
]
