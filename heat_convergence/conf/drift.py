"""Options of the watch, which compares complete stacks with the cloud.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg, types

GROUP = "drift"
POLICIES = ("ignore", "report", "repair", "observe-only")

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
    cfg.StrOpt(
        "default_policy",
        default="report",
        choices=POLICIES,
        help="What happens to drift of resource types that policies does not name, where neither "
        "an environment nor a user says otherwise.",
    ),
    cfg.ListOpt(
        "policies",
        default=[],
        item_type=types.String(regex=f"^[^=]+=({'|'.join(POLICIES)})$"),
        sample_default=["OS::Nova::Server=repair", "OS::Neutron::*=observe-only"],
        help="Drift policies of resource types, as TYPE=POLICY. TYPE may be a pattern; an exact "
        "name counts before patterns, and a longer pattern before a shorter one.",
    ),
    cfg.StrOpt(
        "repair_window",
        help="Cron expression of five fields at which a window opens in which the service starts "
        "repairs by itself; without it they start at any time. An environment and a user may set "
        "another window.",
    ),
    cfg.IntOpt(
        "repair_window_duration",
        default=3600,
        min=60,
        max=604800,
        help="Seconds that the window of repair_window stays open.",
    ),
    cfg.StrOpt(
        "repair_window_timezone",
        default="UTC",
        help="Time zone of repair_window.",
    ),
    cfg.IntOpt(
        "repair_budget_per_stack",
        default=5,
        min=0,
        help="Maximum number of destructive repairs of a stack that the service starts by itself "
        "in an hour. A repair is destructive if it creates a resource anew.",
    ),
    cfg.IntOpt(
        "repair_budget_per_project",
        default=20,
        min=0,
        help="Maximum number of destructive repairs of a project that the service starts by "
        "itself in an hour.",
    ),
    cfg.IntOpt(
        "repair_limit",
        default=5,
        min=1,
        help="Number of repairs of one resource, none of which has lasted for a day, after which "
        "its repairs are suspended until a user resumes them.",
    ),
    cfg.FloatOpt(
        "repair_backoff",
        default=60.0,
        min=1.0,
        help="Seconds between the first and the second repair of a resource; doubled for each "
        "further one.",
    ),
    cfg.FloatOpt(
        "repair_backoff_max",
        default=3600.0,
        min=1.0,
        help="Maximum number of seconds between two repairs of a resource.",
    ),
    cfg.IntOpt(
        "mass_loss_count",
        default=10,
        min=1,
        help="Number of resources of one type, project and region that must be missing at once, "
        "beside mass_loss_share, before their loss is not believed. They count as unknown and "
        "are not repaired until they are back or a user confirms the loss.",
    ),
    cfg.FloatOpt(
        "mass_loss_share",
        default=0.2,
        min=0.0,
        max=1.0,
        help="Share of the resources of one type, project and region that must be missing at "
        "once, beside mass_loss_count, before their loss is not believed.",
    ),
]
