"""Metrics of a process, over Prometheus's client library.

Every package counts here what it does; ``cli.metrics`` serves the values of all worker processes
of a daemon together. Labels have few values each: no id of a stack, a project or a user.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_FAST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SLOW = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0)

API_REQUEST_SECONDS = Histogram(
    "heat_convergence_api_request_seconds",
    "Seconds from a request to the end of its response.",
    ("method", "route", "status"),
    buckets=_FAST,
)
CLOUD_CALL_SECONDS = Histogram(
    "heat_convergence_cloud_call_seconds",
    "Seconds of a call to another service; the outcome is a class of HTTP status, or why there"
    " was no response.",
    ("service", "method", "outcome"),
    buckets=_FAST,
)
OPEN_CIRCUITS = Gauge(
    "heat_convergence_open_circuits",
    "Circuit breakers that keep a process from calling a service.",
    ("service", "region"),
    multiprocess_mode="livesum",
)
JOB_WAIT_SECONDS = Histogram(
    "heat_convergence_job_wait_seconds",
    "Seconds from the time when a job was posted, since everything that it needs was ready,"
    " until a worker claimed it.",
    buckets=_SLOW,
)
CHANGES = Counter(
    "heat_convergence_changes",
    "Changes of stacks and resources, by the text of their line in the log.",
    ("change", "action"),
)
SWEPT = Counter(
    "heat_convergence_swept",
    "What the sweeps of observers found, which a lost message would have started.",
    ("search",),
)
TAKEOVERS = Counter(
    "heat_convergence_ended_worker_jobs",
    "Jobs of ended worker processes that were posted again.",
)
TRANSACTION_RETRIES = Counter(
    "heat_convergence_transaction_retries",
    "Transactions that were repeated, after a conflict or an outage.",
    ("reason",),
)
MESSAGES = Counter(
    "heat_convergence_messages",
    "Messages to engines and observers, by method and outcome: sent, dropped, malformed or"
    " failed.",
    ("method", "outcome"),
)
DRIFT_OBSERVATIONS = Counter(
    "heat_convergence_drift_observations",
    "Observations of resources of complete stacks that differ from the last ones, by status.",
    ("status",),
)
REPAIRS = Counter(
    "heat_convergence_repairs",
    "Repairs of resources that the service has started by itself, by their drift status.",
    ("status",),
)
REPAIR_ENDS = Counter(
    "heat_convergence_repair_ends",
    "Ends of repairs that the service has started by itself, by their outcome.",
    ("outcome",),
)
SUSPENDED_REPAIRS = Counter(
    "heat_convergence_suspended_repairs",
    "Resources whose repairs the service has suspended because none has lasted.",
)
MASS_LOSSES = Counter(
    "heat_convergence_mass_losses",
    "Mass losses by change: suspected or over.",
    ("change",),
)
NOTIFICATIONS = Counter(
    "heat_convergence_notifications",
    "Notifications of other services, by service and outcome: used, widened to all resources of"
    " a type because there were too many, ignored, or malformed.",
    ("service", "outcome"),
)
UNEXPECTED_ERRORS = Counter(
    "heat_convergence_unexpected_errors",
    "Unexpected errors that an error boundary has contained.",
    ("boundary",),
)
BUSY_THREADS = Gauge(
    "heat_convergence_busy_threads",
    "Threads of a pool that are at work.",
    ("pool",),
    multiprocess_mode="livesum",
)
DATABASE_CONNECTIONS = Gauge(
    "heat_convergence_database_connections",
    "Database connections that are in use.",
    multiprocess_mode="livesum",
)
