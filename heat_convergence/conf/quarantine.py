"""Options of the quarantine, the list of resources that could not be deleted with their stack.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "quarantine"

OPTS = [
    cfg.BoolOpt(
        "on_delete",
        default=False,
        help="Whether the deletion of a stack quarantines the resources that cannot be deleted, "
        "and ends DELETE_COMPLETE, where its request does not say. By default such a stack is "
        "DELETE_FAILED, as in Heat.",
    ),
    cfg.FloatOpt(
        "interval",
        default=60.0,
        min=1.0,
        help="Seconds before the deletion of a resource in quarantine is tried again; doubled "
        "after each failed try.",
    ),
    cfg.FloatOpt(
        "interval_max",
        default=21600.0,
        min=1.0,
        help="Maximum number of seconds between two tries.",
    ),
]
