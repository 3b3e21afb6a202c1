#!/usr/bin/env python3
"""Throughput with more and more engines and observers, measured and predicted.

    python -m benchmarks.scale --database mariadb --output build/scale.json

Adds engines and observers as processes on one database and broker, and creates the same stacks
at each step.  The first step gives the service times of a discrete model (``scaling.model``),
which is then compared with the other steps, and predicts larger installations: how fast they
are, and what limits them first.
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
from benchmarks.scaling.bottlenecks import REMEDIES, first_bottleneck
from benchmarks.scaling.calibration import crowd, measured_workload, service_times
from benchmarks.scaling.deployment import Deployment, ServiceTimes, Workload, clustered
from benchmarks.scaling.model import ScaleModel
from benchmarks.server_counters import DatabaseServer, LockWaits, grown
from benchmarks.stack_shapes import SHAPES
from heat_convergence.testing.daemon_processes import ENGINE, OBSERVER, ServiceDeployment

DEFAULT_WORK = ("small:40", "wide:2000", "chain:60")
_PHASES = ("create", "delete")
_WARM_UP = "small:24"
_JOBS_PER_ENGINE = 40  # of a prediction: enough that its beginning and its end do not matter


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the steps and predict the rest."""
    parser = argument_parser(__doc__)
    parser.add_argument("work", nargs="*", default=DEFAULT_WORK, metavar="SHAPE:SIZE")
    parser.add_argument(
        "--steps",
        nargs="+",
        type=_step,
        default=[(1, 1), (2, 1), (2, 2), (4, 2)],
        metavar="ENGINES,OBSERVERS",
        help="such as 1,1 2,1 4,2, never fewer",
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which medians are kept")
    parser.add_argument("--hosts", nargs="+", type=int, default=[2, 8, 32])
    parser.add_argument("--host-processors", type=int, default=4)
    parser.add_argument("--database-processors", type=int, default=16)
    parser.add_argument("--output", type=Path, help="write the rows here, as JSON")
    options = parser.parse_args(arguments)
    options.engines, options.observers = options.steps[0]
    environment = results.environment(**settings(options), repeat=options.repeat)
    with benchmark_deployment(options) as (deployment, counts):
        rows = list(_measured(deployment, counts, options))
    rows += [row for spec in options.work for row in _predicted(spec, rows, options)]
    if options.output:
        results.write(options.output, environment, rows)
    print(report(rows))
    return 0


def _step(text: str) -> tuple[int, int]:
    engines, observers = text.split(",")
    return int(engines), int(observers)


def _measured(
    deployment: ServiceDeployment, counts: Path, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield a row for each step and each work, with the model's error."""
    server = DatabaseServer(deployment.database_url)
    bench = ShapeBenchmark(deployment, counts)
    calibrated: dict[str, tuple[ServiceTimes, Workload]] = {}
    try:
        commit_s = server.commit_s()
        for engines, observers in options.steps:
            _grow(deployment, engines, observers)
            # New processes load modules with their first jobs, which is no part of a step.
            list(bench.measure(_WARM_UP, _PHASES))
            for spec in options.work:
                before = server.counters()
                with LockWaits(server) as waits:
                    row, _ = bench.measure_median(spec, options.repeat, _PHASES)
                counters = grown(before, server.counters())
                if spec not in calibrated:
                    shape, _, size = spec.partition(":")
                    batch = SHAPES[shape](size, "before")
                    calibrated[spec] = (
                        service_times(row, commit_s),
                        measured_workload(
                            row, stacks=len(batch.templates), longest_path=batch.longest_path
                        ),
                    )
                machine = Deployment(
                    processors=results.processors(), engines=engines, observers=observers
                )
                prediction = ScaleModel(*calibrated[spec], machine).run()
                yield {
                    "kind": "measured",
                    "work": spec,
                    "engines": engines,
                    "observers": observers,
                    "server": counters,
                    "waiting_connections": waits.mean,
                    "predicted_per_second": prediction.per_second,
                    "bottleneck": first_bottleneck(prediction),
                    "times": asdict(calibrated[spec][0]),
                    "workload": asdict(calibrated[spec][1]),
                    **asdict(row),
                }
    finally:
        server.close()


def _grow(deployment: ServiceDeployment, engines: int, observers: int) -> None:
    for role, target in ((ENGINE, engines), (OBSERVER, observers)):
        for _ in range(target - len(deployment.daemons_with_role(role))):
            deployment.add_daemon(role).start()


def _predicted(
    spec: str, measured: Sequence[dict[str, Any]], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of hosts, for one project and for many."""
    first = next(row for row in measured if row["work"] == spec)
    times, work = ServiceTimes(**first["times"]), Workload(**first["workload"])
    for hosts in options.hosts:
        deployment = clustered(hosts, options.host_processors, options.database_processors)
        for projects in (1, 4 * deployment.engines):
            load = crowd(work, _JOBS_PER_ENGINE * deployment.engines, projects)
            prediction = ScaleModel(times, load, deployment).run()
            bottleneck = first_bottleneck(prediction)
            yield {
                "kind": "predicted",
                "work": spec,
                "hosts": hosts,
                "projects": projects,
                "stacks": load.stacks,
                "per_second": prediction.per_second,
                "utilization": prediction.utilization,
                "bottleneck": bottleneck,
                "remedy": REMEDIES[bottleneck],
            }


def report(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of a file of results, in reStructuredText."""
    measured = [row for row in rows if row["kind"] == "measured"]
    predicted = [row for row in rows if row["kind"] == "predicted"]
    return "\n".join(
        [
            titled("engines and observers added on one machine", simple_table(
                ["work", "engines", "observers", "resources/s", "model", "error",
                 "statements/resource", "lock waits", "lock wait ms", "deadlocks"],
                [_measured_cells(row) for row in measured])),
            titled("predicted by the model", simple_table(
                ["work", "hosts", "projects", "resources/s", "first bottleneck"],
                [[row["work"], str(row["hosts"]), str(row["projects"]),
                  number(row["per_second"]), row["bottleneck"]] for row in predicted])),
            *(f"- {part}: {remedy}" for part, remedy in sorted(
                {(row["bottleneck"], row["remedy"]) for row in predicted})),
        ]
    )  # fmt: skip


def _measured_cells(row: dict[str, Any]) -> list[str]:
    error = row["predicted_per_second"] / row["per_second"] - 1
    server, waiting = row["server"], row["waiting_connections"]
    waits = str(server["lock waits"]) if "lock waits" in server else number(waiting)
    return [
        row["work"],
        str(row["engines"]),
        str(row["observers"]),
        number(row["per_second"]),
        number(row["predicted_per_second"]),
        f"{100 * error:+.0f} %",
        number(row["statements_per_resource"]),
        waits,
        str(server.get("lock wait ms", "–")),
        str(server.get("deadlocks", "–")),
    ]


if __name__ == "__main__":
    sys.exit(main())
