#!/usr/bin/env python3
"""The same stacks on this service and on a running Heat, by turns in one run.

    export HEAT_TOKEN=$(openstack token issue -f value -c id)
    python -m benchmarks.beside_heat http://127.0.0.1:8004 PROJECT_ID --database mariadb --repeat 3

Heat is started by its own means, on the same machine, with as many engine workers, and with the
pause of a second after each leaf taken out.  Prints the medians of both, and how many times as
long Heat takes.  A stack that Heat fails ends the run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.reports import results, tables
from benchmarks.run import (
    CLIENTS,
    PROJECT,
    argument_parser,
    benchmark_deployment,
    settings,
    shape_spec,
)
from benchmarks.stack_client import StackClient
from benchmarks.stack_shapes import SHAPES

DEFAULT_SHAPES = ("chain:100", "wide:100", "layered:10x10", "tree:10x10", "small:20")
PHASES = ("create", "no-op", "delete")
_OURS, _HEAT = "this service", "Heat"


def measure(client: StackClient, spec: str, mark: str) -> dict[str, float]:
    """Return the seconds of each phase of a shape; ``mark`` makes its names unique."""
    name, _, size = spec.partition(":")
    templates = SHAPES[name](size, "value").templates
    paths = [""] * len(templates)

    def create(number: int) -> None:
        paths[number] = client.create(f"{mark}-{number}", templates[number])

    def update(number: int) -> None:
        client.update(paths[number], templates[number])

    def delete(number: int) -> None:
        client.delete(paths[number])

    requests: Sequence[Callable[[int], None]] = (create, update, delete)
    seconds = {}
    with ThreadPoolExecutor(CLIENTS) as pool:
        for phase, request in zip(PHASES, requests, strict=True):
            started_at = time.monotonic()
            list(pool.map(request, range(len(templates))))
            for path in paths:
                client.wait(path)
            seconds[phase] = time.monotonic() - started_at
    return seconds


def compare(
    clients: dict[str, StackClient], specs: Sequence[str], repeat: int
) -> list[results.Row]:
    """Return a row for each phase of each shape, with the median seconds of both services."""
    rows: list[results.Row] = []
    started = int(time.time())
    for spec in specs:
        runs: dict[str, list[dict[str, float]]] = {system: [] for system in clients}
        for turn in range(repeat):
            for system, client in clients.items():
                mark = f"{spec.replace(':', '-')}-{started}-{turn}"
                runs[system].append(measure(client, spec, mark))
        for phase in PHASES:
            medians = {
                system: round(median(each[phase] for each in runs[system]), 3)
                for system in clients
            }
            rows.append({"work": spec, "phase": phase, **medians})
            print(rows[-1], flush=True)
    return rows


def table(rows: Sequence[results.Row]) -> str:
    """Return the rows as a table of the documentation."""
    lines = []
    for row in rows:
        ours, heat = row[_OURS], row[_HEAT]
        cells = (tables.number(ours, "s"), tables.number(heat, "s"), tables.number(heat / ours))
        lines.append((row["work"], row["phase"], *cells))
    return tables.simple_table(("work", "phase", _OURS, _HEAT, "ratio"), lines)


def main() -> int:
    """Run the comparison."""
    parser = argument_parser(__doc__)
    parser.add_argument("heat", help="address of Heat's API, without the version")
    parser.add_argument("project", help="id of the project of the token in HEAT_TOKEN")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE:SIZE", type=shape_spec)
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which medians are kept")
    parser.add_argument("--output", type=Path, help="write the rows here, too, as JSON")
    options = parser.parse_args()
    token = os.environ.get("HEAT_TOKEN")
    if not token:
        parser.error("the environment variable HEAT_TOKEN has no token of Keystone")
    heat = StackClient(options.heat, options.project, token)
    with benchmark_deployment(options) as (deployment, _counts):
        clients = {_OURS: StackClient(deployment.endpoint, PROJECT), _HEAT: heat}
        rows = compare(clients, options.shapes or DEFAULT_SHAPES, options.repeat)
    print(table(rows))
    if options.output:
        environment = results.environment(**settings(options), repeat=options.repeat)
        results.write(options.output, environment, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
