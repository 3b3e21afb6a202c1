"""Options of traces.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "tracing"
NO_BACKEND = "none"

OPTS = [
    cfg.StrOpt(
        "backend",
        default=NO_BACKEND,
        choices=[
            (NO_BACKEND, "No traces."),
            ("opentelemetry", "OTLP over HTTP. It needs heat-convergence[otel]."),
            ("osprofiler", "osprofiler. It needs heat-convergence[osprofiler]."),
        ],
        help="Library that collects spans of API requests, jobs, calls to other services and"
        " observations.",
    ),
    cfg.URIOpt(
        "otlp_endpoint",
        default="http://127.0.0.1:4318/v1/traces",
        schemes=["http", "https"],
        help="Address to which spans are sent with backend = opentelemetry.",
    ),
    cfg.FloatOpt(
        "sample_ratio",
        default=1.0,
        min=0.0,
        max=1.0,
        help="Share of the traces that are collected with backend = opentelemetry. The id of the"
        " request decides, so that all daemons collect the same ones.",
    ),
    cfg.StrOpt(
        "osprofiler_connection",
        default="redis://127.0.0.1:6379",
        secret=True,
        help="Storage of backend = osprofiler, as osprofiler's connection_string.",
    ),
    cfg.StrOpt(
        "osprofiler_hmac_key",
        secret=True,
        help="Key of backend = osprofiler that signs traces for other services, one of their"
        " hmac_keys.",
    ),
]
