#!/usr/bin/env python3
"""Both concurrency backends side by side: throughput, processor time, memory and latencies.

    python -m benchmarks.backends --database mariadb --repeat 3 --output backends.json
    python -m benchmarks.backends --table backends.json

Runs the same stacks on eventlet and on native threads, by turns, each time on daemons, a database
and a virtual host of their own.  The latencies of an engine are those of one message, those of an
observer of one transaction, which may be of several messages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.reports import results
from benchmarks.reports.tables import number, simple_table, titled
from benchmarks.run import ShapeBenchmark, argument_parser, benchmark_deployment, settings

DEFAULT_SHAPES = ("wide:1000", "chain:100", "layered:20x25", "small:50", "tree:20x10")
BACKENDS = ("eventlet", "threading")
_COMPONENTS = {"API": "api", "engine": "engine", "observer": "observer"}
_LATENCIES = {"API": "request", "engine": "converge", "observer": "observe"}
_NO_VALUE = "–"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both backends, or print the table of a file of results."""
    parser = argument_parser(__doc__)
    parser.add_argument("shapes", nargs="*", default=DEFAULT_SHAPES, metavar="SHAPE:SIZE")
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which medians are kept")
    parser.add_argument("--output", type=Path, help="write the rows here, as JSON")
    parser.add_argument("--table", type=Path, help="print the table of this file, and no more")
    options = parser.parse_args(arguments)
    if options.table:
        print(report(results.read(options.table)[1]))
        return 0
    options.backend = " and ".join(BACKENDS)
    environment = results.environment(**settings(options), repeat=options.repeat)
    rows = list(_medians(list(_runs(options))))
    if options.output:
        results.write(options.output, environment, rows)
    print(report(rows))
    return 0


def _runs(options: argparse.Namespace) -> Iterator[tuple[str, results.PhaseResult]]:
    for _ in range(options.repeat):
        for backend in BACKENDS:
            options.backend = backend
            with benchmark_deployment(options) as (deployment, counts):
                bench = ShapeBenchmark(deployment, counts)
                for spec in options.shapes:
                    for row in bench.measure(spec, ("create", "delete")):
                        yield backend, row


def _medians(runs: Sequence[tuple[str, results.PhaseResult]]) -> Iterator[dict[str, Any]]:
    """Yield the median run of each shape, phase and backend."""
    keys = dict.fromkeys((row.shape, row.phase, backend) for backend, row in runs)
    for shape, phase, backend in keys:
        same = [
            row for name, row in runs if (row.shape, row.phase, name) == (shape, phase, backend)
        ]
        yield {"backend": backend, **asdict(results.median_row(same))}


def report(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of throughput, memory and latencies."""
    creates = [row for row in rows if row["phase"] == "create"]
    shapes = list(dict.fromkeys(row["shape"] for row in creates))
    of = {(row["shape"], row["backend"]): row for row in creates}
    pairs = [[of[shape, backend] for backend in BACKENDS] for shape in shapes]
    throughput = simple_table(
        ["work", "resources/s", "and", "ratio", "processor ms/resource", "and"],
        [_throughput_cells(*pair) for pair in pairs],
    )
    latencies = simple_table(
        ["work", *(f"{part}, {backend}" for part in _LATENCIES for backend in BACKENDS)],
        [
            [pair[0]["shape"]]
            + [_latency_cell(row, step) for step in _LATENCIES.values() for row in pair]
            for pair in pairs
        ],
    )
    memory = simple_table(
        ["part", *BACKENDS],
        [
            [part, *(_peak_cell(rows, backend, prefix) for backend in BACKENDS)]
            for part, prefix in _COMPONENTS.items()
        ],
    )
    return "\n".join(
        [
            titled("creates on eventlet and on native threads", throughput),
            titled("milliseconds, p50 / p99, of a request, a job and an observation", latencies),
            titled("peak memory of the largest process, MB", memory),
        ]
    )


def _throughput_cells(eventlet: dict[str, Any], threads: dict[str, Any]) -> list[str]:
    return [
        eventlet["shape"],
        number(eventlet["per_second"]),
        number(threads["per_second"]),
        number(threads["per_second"] / eventlet["per_second"]),
        number(_processor_ms(eventlet)),
        number(_processor_ms(threads)),
    ]


def _processor_ms(row: dict[str, Any]) -> float:
    """Return the processor milliseconds of the service for one resource."""
    used_s = sum(
        used for part, used in row["processor_s"].items()
        if part.partition("-")[0] in _COMPONENTS.values()
    )  # fmt: skip
    return 1000 * used_s / float(row["resources"])


def _latency_cell(row: dict[str, Any], step: str) -> str:
    values = [row["latency_ms"].get(f"{step} {name}") for name in ("p50", "p99")]
    return " / ".join(number(value) for value in values)


def _peak_cell(rows: Sequence[dict[str, Any]], backend: str, prefix: str) -> str:
    """Return the highest peak; a process keeps its own until it ends."""
    peaks = [
        peak
        for row in rows
        if row["backend"] == backend
        for part, peak in row["peak_memory_mb"].items()
        if part.startswith(prefix)
    ]
    return number(max(peaks)) if peaks else _NO_VALUE


if __name__ == "__main__":
    sys.exit(main())
