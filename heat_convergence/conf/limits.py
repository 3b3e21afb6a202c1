"""Bounds on what one user may ask for.

Names and defaults are those of the Orchestration service's configuration, so that
an operator's file goes on working.  Read by ``cli``, which hands the numbers on.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = None

OPTS = [
    cfg.IntOpt(
        "max_template_size",
        default=524288,
        min=1,
        help="Largest template, in characters; also of one fetched from template_url.",
    ),
    cfg.IntOpt(
        "max_json_body_size",
        default=1048576,
        min=1,
        help="Largest request body, in bytes.",
    ),
    cfg.IntOpt(
        "max_resources_per_stack",
        default=1000,
        min=-1,
        help="Most resources in a stack with all its nested stacks; -1 for no limit.",
    ),
    cfg.IntOpt(
        "max_stacks_per_tenant",
        default=512,
        help="Most root stacks of a project; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_nested_stack_depth",
        default=5,
        min=0,
        help="How deep stacks may be nested.",
    ),
    cfg.IntOpt(
        "max_snapshots_per_stack",
        default=32,
        help="Most snapshots of a stack; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_software_configs_per_tenant",
        default=4096,
        help="Most software configurations of a project; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_software_deployments_per_tenant",
        default=4096,
        help="Most software deployments of a project; negative for no limit.",
    ),
    cfg.BoolOpt(
        "enable_stack_abandon",
        default=False,
        help="Whether users may abandon and export stacks.",
    ),
    cfg.BoolOpt(
        "enable_stack_adopt",
        default=False,
        help="Whether users may make stacks of what exists already.",
    ),
    cfg.IntOpt(
        "max_events_per_stack",
        default=1000,
        min=0,
        help="Most events that are kept of a stack, the newest; 0 keeps all.",
    ),
    cfg.IntOpt(
        "event_purge_batch_size",
        default=200,
        min=1,
        help="Most events that are deleted in one transaction.",
    ),
    cfg.ListOpt(
        "hidden_stack_tags",
        default=[],
        help="Stacks with one of these tags are left out of lists.",
    ),
    cfg.FloatOpt(
        "template_fetch_timeout",
        default=60.0,
        min=0.0,
        help="Seconds that fetching a template_url may take.",
    ),
    cfg.BoolOpt(
        "template_fetch_private_addresses",
        default=False,
        help="Whether a template_url may lead to loopback, link-local and private addresses."
        " Whoever may create stacks then reads what these hosts answer to this one.",
    ),
]

REVISION_GROUP = "revision"

REVISION_OPTS = [
    cfg.StrOpt(
        "heat_revision",
        default="unknown",
        help="Build revision, as the build information tells it.",
    ),
]

YAQL_GROUP = "yaql"

YAQL_OPTS = [
    cfg.IntOpt(
        "limit_iterators",
        default=200,
        help="Most elements that one collection of a YAQL expression may yield.",
    ),
    cfg.IntOpt(
        "memory_quota",
        default=10000,
        help="Most memory, in bytes, that one YAQL expression may take.",
    ),
]
