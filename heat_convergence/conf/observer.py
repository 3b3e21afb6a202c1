"""How reality is watched and lost work is found.

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
        help="Processes of an observer daemon.",
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        help="Messages that a worker process handles at once.",
    ),
    cfg.IntOpt(
        "sweep_limit",
        default=500,
        min=1,
        help="Most rows that one sweep takes up; what is left is the next one's.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=3.0,
        min=0.1,
        help="Longest pause, in seconds, between two sweeps for lost jobs and for "
        "resources whose next look is due.",
    ),
]
