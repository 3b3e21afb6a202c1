"""Options that limit what one user may request.

Names and defaults are those of the Orchestration service's configuration, so that an
operator's file keeps working. Read by ``cli``, which passes the numbers on.
"""

from __future__ import annotations

from importlib.metadata import version

from oslo_config import cfg

GROUP = None

OPTS = [
    cfg.IntOpt(
        "max_template_size",
        default=524288,
        min=1,
        help="Maximum size of a template in characters, also when it is fetched from "
        "template_url.",
    ),
    cfg.IntOpt(
        "max_template_evaluation_steps",
        default=500000,
        min=1000,
        help="Maximum work of evaluating one template, or one value that is read later: three"
        " steps for each member of the template, about one for each member of the arguments and"
        " the result of each function. A step takes about a microsecond. Reading and evaluating"
        " all templates of one API request may take three times as many steps together. A"
        " TripleO overcloud takes 800,000 to create and, by its size, 2,000,000 to 4,000,000 to"
        " preview.",
    ),
    cfg.IntOpt(
        "max_json_body_size",
        default=1048576,
        min=1,
        help="Maximum size of a request body in bytes.",
    ),
    cfg.IntOpt(
        "max_resources_per_stack",
        default=1000,
        min=-1,
        help="Maximum number of resources of a stack with all its nested stacks; -1 for no limit.",
    ),
    cfg.IntOpt(
        "max_stacks_per_tenant",
        default=512,
        help="Maximum number of root stacks of a project; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_nested_stack_depth",
        default=5,
        min=0,
        help="Maximum depth of nested stacks.",
    ),
    cfg.IntOpt(
        "max_snapshots_per_stack",
        default=32,
        help="Maximum number of snapshots of a stack; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_plans_per_tenant",
        default=100,
        help="Maximum number of stored plans of a project that can be executed; negative for no"
        " limit.",
    ),
    cfg.IntOpt(
        "plan_lifetime",
        default=86400,
        min=1,
        help="Seconds after which a stored plan can no longer be executed. Observers delete it"
        " then.",
    ),
    cfg.IntOpt(
        "max_software_configs_per_tenant",
        default=4096,
        help="Maximum number of software configs of a project; negative for no limit.",
    ),
    cfg.IntOpt(
        "max_software_deployments_per_tenant",
        default=4096,
        help="Maximum number of software deployments of a project; negative for no limit.",
    ),
    cfg.BoolOpt(
        "enable_stack_abandon",
        default=False,
        help="Whether users may abandon and export stacks.",
    ),
    cfg.BoolOpt(
        "enable_stack_adopt",
        default=False,
        help="Whether users may adopt existing resources in a new stack.",
    ),
    cfg.IntOpt(
        "max_events_per_stack",
        default=1000,
        min=0,
        help="Number of newest events that are kept of a stack; 0 keeps all.",
    ),
    cfg.IntOpt(
        "event_purge_batch_size",
        default=200,
        min=1,
        help="Maximum number of events that are deleted in one transaction.",
    ),
    cfg.ListOpt(
        "hidden_stack_tags",
        default=[],
        help="Stacks with one of these tags are not listed.",
    ),
    cfg.IntOpt(
        "partial_update_min_resources",
        default=500,
        min=0,
        help="Number of resources of a template from which on an update evaluates no more of it"
        " than what changes and what that requires, where the rest of the stack is at rest. An"
        " update of a smaller template evaluates all of it.",
    ),
    cfg.FloatOpt(
        "template_fetch_timeout",
        default=60.0,
        min=0.0,
        help="Time limit, in seconds, for fetching a template_url.",
    ),
    cfg.BoolOpt(
        "template_fetch_private_addresses",
        default=False,
        help="Whether a template_url may resolve to loopback, link-local and private addresses."
        " Every user who may create stacks can then read the responses of these hosts.",
    ),
]

REVISION_GROUP = "revision"

REVISION_OPTS = [
    cfg.StrOpt(
        "heat_revision",
        default=version("heat-convergence"),
        sample_default="<version of the package>",
        help="Build revision that the build information reports.",
    ),
]

YAQL_GROUP = "yaql"

YAQL_OPTS = [
    cfg.IntOpt(
        "limit_iterators",
        default=200,
        help="Maximum number of elements that a collection in a YAQL expression may yield.",
    ),
    cfg.IntOpt(
        "memory_quota",
        default=10000,
        help="Maximum memory, in bytes, that one YAQL expression may use.",
    ),
    cfg.FloatOpt(
        "time_limit",
        default=1.0,
        min=0.05,
        help="Processor time, in seconds, that all YAQL expressions of one API request, or of"
        " one resource's job, may take together. An expression that exceeds it is ended, and"
        " the request or the resource that needs it fails. A request waits half a second longer"
        " for them by the clock, and is answered with 503 then.",
    ),
    cfg.IntOpt(
        "processes",
        default=2,
        min=1,
        help="Most child processes in which each API, engine and observer process evaluates"
        " YAQL expressions, apart from the one that forks them. They are started when the first"
        " expression comes. With more than one, a project leaves one to the others.",
    ),
    cfg.IntOpt(
        "process_memory",
        default=512,
        min=128,
        help="Address space, in megabytes, of a child process that evaluates YAQL expressions.",
    ),
]
