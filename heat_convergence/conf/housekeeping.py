"""Options of the housekeeping that observers do by themselves.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "housekeeping"

OPTS = [
    cfg.IntOpt(
        "deleted_stacks_days",
        default=90,
        min=0,
        help="Days after which the rows of a deleted stack are purged; 0 keeps them until"
        " heat-convergence-manage purge_deleted.",
    ),
    cfg.IntOpt(
        "ended_workers_hours",
        default=24,
        min=1,
        help="Hours without a heartbeat after which a worker process is removed from the list of"
        " services.",
    ),
]
