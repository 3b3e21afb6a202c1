"""Results of runs as JSON files, which the tables and plots of the documentation are made from.

A file holds the ``environment`` of a run and its ``rows``; only ``write`` and ``read`` know its
form. Written by ``run.py``, ``backends.py``, ``scale.py`` and ``figures.py``.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """The result of one phase of a shape; numbers are per resource of the template.

    Attributes:
        shape: shape and size, such as ``wide:1000``.
        requests_s: seconds until the response to the last request.
        processor_s: processor seconds by component.
        peak_memory_mb: peak of the largest process of each component, since its start.
        latency_ms: by step and percentile, such as ``request p99``.
        jobs: messages that engines have handled.
        commits: of all components.
    """

    shape: str
    phase: str
    resources: int
    total_s: float
    requests_s: float
    per_second: float
    ms_per_link: float
    statements_per_resource: float
    messages_per_resource: float
    processor_s: dict[str, float]
    peak_memory_mb: dict[str, float] = field(default_factory=dict)
    latency_ms: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    commits: int = 0
    statements_by_component: dict[str, int] = field(default_factory=dict)


def processors() -> int:
    """Return the number of processors of this machine."""
    return os.cpu_count() or 1


def environment(**settings: object) -> Row:
    """Return what a reader needs to know about a run beside its numbers."""
    return {
        **settings,
        "processors": processors(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
    }


def write(path: Path, environment_of_run: Mapping[str, Any], rows: Iterable[Any]) -> None:
    """Write a file of results; rows are dataclasses or mappings."""
    plain = [dict(row) if isinstance(row, Mapping) else asdict(row) for row in rows]
    document = {"environment": dict(environment_of_run), "rows": plain}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def read(path: Path) -> tuple[Row, list[Row]]:
    """Return the environment and the rows of a file of results."""
    document = json.loads(path.read_text())
    return document["environment"], document["rows"]


def median_row(rows: Sequence[PhaseResult]) -> PhaseResult:
    """Return the row whose duration is the median one of several runs of the same phase."""
    middle = statistics.median_low(row.total_s for row in rows)
    return next(row for row in rows if row.total_s == middle)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered), -int(-share * len(ordered) // 1)) - 1)]
