"""Options of job execution: batches, leases, retries and time limits.

``cli.components.settings`` builds ``convergence.ports.settings.ConvergenceSettings`` from them.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = None

OPTS = [
    cfg.IntOpt(
        "num_engine_workers",
        min=1,
        sample_default="<number of processors>",
        help="Number of worker processes of an engine daemon.",
    ),
    cfg.IntOpt(
        "action_retry_limit",
        default=5,
        min=1,
        help="Number of retries of a resource's action in one traversal, each after a longer pause"
        " than the last. A new resource that ends in an error state is deleted and created anew.",
    ),
    cfg.IntOpt(
        "stack_action_timeout",
        default=3600,
        min=1,
        help="Time limit of a stack action, in seconds, when the request specifies no timeout.",
    ),
    cfg.BoolOpt(
        "observe_on_update",
        default=False,
        help="Whether every update first observes the physical resources of its stack and repairs "
        "drift, as an update with converge does.",
    ),
    cfg.IntOpt(
        "error_wait_time",
        default=240,
        min=0,
        help="Seconds that resources in progress may take to finish after another resource of the"
        " stack has failed.",
    ),
]

ENGINE_GROUP = "engine"

ENGINE_OPTS = [
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        help="Maximum number of messages that a worker process handles at once.",
    ),
    cfg.IntOpt(
        "verb_threads",
        default=64,
        min=1,
        help="Maximum number of calls to other services that a worker process has open at once. "
        "No service of a region and no project takes more than two thirds of them.",
    ),
    cfg.IntOpt(
        "batch_size",
        default=50,
        min=1,
        help="Maximum number of jobs in one message.",
    ),
    cfg.IntOpt(
        "jobs_in_flight",
        default=200,
        min=1,
        help="Maximum number of jobs of one stack in progress at once, so that a large stack does "
        "not starve small ones.",
    ),
    cfg.IntOpt(
        "jobs_on_bus",
        default=100,
        min=1,
        help="Maximum number of jobs of one project that wait in queues for a worker. Fewer give "
        "the stacks of the project shorter turns; more keep many engines busier. With less than "
        "twice batch_size, one project keeps one engine busy.",
    ),
    cfg.IntOpt(
        "jobs_in_hand",
        default=400,
        min=1,
        help="Maximum number of jobs of one project that are queued or in progress, so that calls "
        "that hang in one project leave workers to the others.",
    ),
    cfg.FloatOpt(
        "lease",
        default=10.0,
        min=1.0,
        help="Seconds without a renewal after which a worker is considered dead and its resources "
        "may be taken over by another worker.",
    ),
    cfg.IntOpt(
        "max_job_takeovers",
        default=3,
        min=1,
        help="Number of times that a job of a resource is taken over, in one traversal, from a "
        "worker that died or was stalled while it ran the job. When that happens once more, the "
        "job is not repeated and the resource fails.",
    ),
    cfg.FloatOpt(
        "repost_after",
        default=6.0,
        min=0.5,
        help="Seconds after which the message of a job that no worker has claimed is sent again.",
    ),
    cfg.FloatOpt(
        "retry_backoff",
        default=1.0,
        min=0.0,
        help="Seconds before the first retry of a failed job; doubled with every retry.",
    ),
    cfg.FloatOpt(
        "retry_backoff_max",
        default=60.0,
        min=0.0,
        help="Maximum number of seconds before a failed job is retried.",
    ),
]
