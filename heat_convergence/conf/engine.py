"""How jobs are done: batches, leases, retries, time limits.

``cli.convergence_settings`` makes ``convergence.ports.ConvergenceSettings`` of them.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = None

OPTS = [
    cfg.IntOpt(
        "num_engine_workers",
        min=1,
        sample_default="<number of processors>",
        help="Processes of an engine daemon.",
    ),
    cfg.IntOpt(
        "action_retry_limit",
        default=5,
        min=1,
        help="How often a resource is tried in one traversal before it has failed.",
    ),
    cfg.IntOpt(
        "stack_action_timeout",
        default=3600,
        min=1,
        help="Seconds that a stack action may take when the request names no timeout.",
    ),
    cfg.BoolOpt(
        "observe_on_update",
        default=False,
        help="Whether every update looks first at all that its stack has, and makes again "
        "what is gone, as one that says converge does.",
    ),
    cfg.IntOpt(
        "error_wait_time",
        default=240,
        min=0,
        help="Seconds that resources already at work are given after another one failed.",
    ),
]

ENGINE_GROUP = "engine"

ENGINE_OPTS = [
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        help="Messages that a worker process handles at once.",
    ),
    cfg.IntOpt(
        "verb_threads",
        default=64,
        min=1,
        help="Calls to other services that a worker process has open at once.",
    ),
    cfg.IntOpt(
        "batch_size",
        default=25,
        min=1,
        help="Most jobs in a message.",
    ),
    cfg.IntOpt(
        "jobs_in_flight",
        default=200,
        min=1,
        help="Most jobs of one stack that are at work at once, so that a huge stack "
        "starves no small one.",
    ),
    cfg.IntOpt(
        "jobs_on_bus",
        default=25,
        min=1,
        help="Most jobs of one project that wait on the bus for a worker.  Fewer keep the "
        "turns of its stacks shorter; more keep many engines busier.",
    ),
    cfg.IntOpt(
        "jobs_in_hand",
        default=400,
        min=1,
        help="Most jobs of one project on the bus and in workers' hands together, so that "
        "calls that hang in one project leave workers to the others.",
    ),
    cfg.FloatOpt(
        "lease",
        default=10.0,
        min=1.0,
        help="Seconds after which a worker that gives no sign is taken for dead and its "
        "resource is free for another.",
    ),
    cfg.FloatOpt(
        "repost_after",
        default=6.0,
        min=0.5,
        help="Seconds after which a job that nobody has taken is sent again.",
    ),
    cfg.FloatOpt(
        "retry_backoff",
        default=1.0,
        min=0.0,
        help="Seconds before the first repetition of a failed job; doubled each time.",
    ),
    cfg.FloatOpt(
        "retry_backoff_max",
        default=60.0,
        min=0.0,
        help="Longest pause, in seconds, before a failed job is repeated.",
    ),
]
