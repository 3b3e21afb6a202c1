"""Response times of reads of one stack, as a step of ``run.py --reads``."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.reports.results import PhaseResult, percentile
from benchmarks.stack_client import RequestFailed, StackClient

_WHOLE_LIST = "list of resources"
_WHOLE_LIST_READS = 3  # It has no pages, as in Heat.
READS = {
    "stack": "?resolve_outputs=false",
    "resource": "/resources/r0",
    "resource by name": "/resources?name=r0",
    "output": "/outputs/first",
    "page of events": "/events?limit=20",
    _WHOLE_LIST: "/resources",
}


def measure_reads(
    client: StackClient, path: str, *, spec: str, resources: int, count: int
) -> Iterator[PhaseResult]:
    """Yield a row for each read, whose latencies are those of ``count`` requests in turn.

    Args:
        client: the stack's client.
        path: of the stack.
        spec: shape and size, for the row.
        resources: number of resources of the stack.
        count: number of requests of each read; the whole list is read a few times alone.
    """
    for name, suffix in READS.items():
        times_ms = []
        for _ in range(min(count, _WHOLE_LIST_READS) if name == _WHOLE_LIST else count):
            started_at = time.monotonic()
            response = client.get(path + suffix)
            times_ms.append(1000 * (time.monotonic() - started_at))
            if response.status != 200:
                raise RequestFailed(f"GET {path}{suffix}: {response.status}")
        yield PhaseResult(
            shape=spec,
            phase=f"read {name}",
            resources=resources,
            total_s=sum(times_ms) / 1000,
            requests_s=sum(times_ms) / 1000,
            per_second=1000 * len(times_ms) / sum(times_ms),
            ms_per_link=0.0,
            statements_per_resource=0.0,
            messages_per_resource=0.0,
            processor_s={},
            latency_ms={
                "request p50": round(percentile(times_ms, 0.5), 1),
                "request p99": round(percentile(times_ms, 0.99), 1),
            },
        )
