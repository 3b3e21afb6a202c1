#!/usr/bin/env python3
"""The figures of the performance page, each beside its goal, measured again.

    python -m benchmarks.figures shapes large --repeat 3 --output figures.json
    python -m benchmarks.figures --table figures.json

Each subset starts one API, two engines and one observer on a database and a virtual host of their
own.  Subsets that are measured again replace their rows in the file; the table is made of all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import parallel_clients
from benchmarks.reports import results
from benchmarks.reports.figure_table import figure_table
from benchmarks.run import ShapeBenchmark, argument_parser, benchmark_deployment, settings
from benchmarks.watch import idle_installation

READS_EACH = 200
SUBSETS = {
    "shapes": ("chain:200", "wide:1000", "layered:20x25", "small:20", "tree:100x10"),
    "medium": ("wide:10000",),
    "large": ("wide:100000",),
    "million": ("tree:100x100x100",),
    "clients": (),
    "list": (),
    "idle": (),
}
_CREATE_ONLY = ("million",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure subsets, or print the table of a file."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "subsets",
        nargs="*",
        choices=[*SUBSETS, []],
        metavar="SUBSET",
        help=f"of {', '.join(SUBSETS)}",
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which medians are kept")
    parser.add_argument("--divide", type=int, default=1, help="divide the counts, for a trial")
    parser.add_argument("--output", type=Path, default=Path("build/figures.json"))
    parser.add_argument("--table", type=Path, help="print the table of this file, and no more")
    parser.set_defaults(database="mariadb")
    options = parser.parse_args(arguments)
    if options.table:
        print(figure_table(results.read(options.table)[1]))
        return 0
    environment = results.environment(**settings(options), repeat=options.repeat)
    rows = results.read(options.output)[1] if options.output.exists() else []
    for subset in options.subsets:
        measured = list(_measure(subset, options))
        rows = [row for row in rows if row["subset"] != subset]
        rows += [{"subset": subset, "divisor": options.divide, **row} for row in measured]
        results.write(options.output, environment, rows)
    print(figure_table(rows))
    return 0


def _measure(subset: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the values of a subset, by the key of their figure."""
    sources = {"clients": _clients, "list": _lists, "idle": _idle}
    runs = [
        dict(sources[subset](options) if subset in sources else _shapes(subset, options))
        for _ in range(options.repeat)
    ]
    for key in runs[0]:
        yield {"key": key, "value": statistics.median(run[key] for run in runs)}


def _shapes(subset: str, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    phases = ("create",) if subset in _CREATE_ONLY else ("create", "no-op", "change-one", "delete")
    with benchmark_deployment(options) as (deployment, counts):
        bench = ShapeBenchmark(deployment, counts, READS_EACH if subset == "large" else 0)
        for spec in SUBSETS[subset]:
            for row in bench.measure(divided(spec, options.divide), phases):
                print(f"{row.shape} {row.phase}: {row.total_s:.2f} s", flush=True)
                yield from row_values(spec, row)


def divided(spec: str, divisor: int) -> str:
    """Return a shape whose counts are a fraction of another's."""
    shape, _, size = spec.partition(":")
    return f"{shape}:{'x'.join(str(max(1, int(each) // divisor)) for each in size.split('x'))}"


def row_values(spec: str, row: results.PhaseResult) -> Iterator[tuple[str, float]]:
    """Yield the values of one phase, by the key of their figure."""
    key = f"{spec} {row.phase}"
    yield f"{key} s", row.total_s
    yield f"{key} per s", row.per_second
    yield f"{key} ms/link", row.ms_per_link
    yield f"{key} jobs", row.jobs
    if row.phase.startswith("read "):
        yield f"{key} p99 ms", row.latency_ms["request p99"]
    for part in ("api", "engine", "observer"):
        peaks = [mb for name, mb in row.peak_memory_mb.items() if name.startswith(part)]
        if peaks:
            yield f"{key} {part} MB", max(peaks)


def _clients(options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    clients = max(1, 100 // options.divide)
    row = _parallel(options, f"--clients {clients} --stacks 5 --resources 10")
    yield "clients per s", row["resources_per_second"]
    yield "clients accept p99 ms", row["create_p99_ms"]


def _lists(options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    stacks = max(1, 500 // options.divide)
    row = _parallel(
        options, f"--clients 20 --stacks {stacks} --resources 1 --projects 1 --lists {READS_EACH}"
    )
    yield "list p99 ms", row["list_p99_ms"]
    yield "list page p99 ms", row["page_p99_ms"]


def _parallel(options: argparse.Namespace, command: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        parallel_clients.main(
            [*command.split(), "--database", options.database, "--concurrency", options.backend,
             "--engines", str(options.engines), "--output", str(path)]
        )  # fmt: skip
        row: dict[str, Any] = results.read(path)[1][0]
    if row["errors"]:
        raise RuntimeError(f"Requests failed: {row['errors']}")
    return row


def _idle(options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    arguments = argparse.Namespace(
        database=options.database,
        broker=idle_installation.DEFAULT_BROKER_URL,
        settle=max(1, 20 // options.divide),
        seconds=max(1, 60 // options.divide),
    )
    lines = list(idle_installation.measure(options.backend, arguments))
    yield (
        "idle processor percent",
        next(line["cpu_percent"] for line in lines if line["process"] == "all"),
    )
    workers = [line for line in lines if "worker" in str(line["process"])]
    for part in ("api", "engine", "observer"):
        mine = [line["resident_mb"] for line in workers if str(line["process"]).startswith(part)]
        yield f"idle {part} MB", max(mine)


if __name__ == "__main__":
    sys.exit(main())
