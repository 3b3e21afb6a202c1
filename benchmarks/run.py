#!/usr/bin/env python3
"""The service's benchmark over REST: time, statements and messages by shape and phase.

    python -m benchmarks.run --database mariadb --engines 2 wide:1000 chain:200
    python -m benchmarks.run --database sqlite --bus fake

Starts the daemons on a database and a virtual host of its own and deletes both afterwards.
A shape is wide:N, chain:N, layered:LxW, fanin:N, small:N (N stacks of ten resources) or
tree:AxB (A groups of B resources; with AxBxC groups in groups).
Each is created, updated without a change, updated in its first resource, and deleted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import temporary_backends
from benchmarks.instrumented_daemon import (
    COUNTS_FOLDER_VARIABLE,
    TIMED,
    CounterValues,
    read_process_counts,
)
from benchmarks.process_usage import cpu_seconds_by_component, peak_memory_mb_by_component
from benchmarks.reads import measure_reads
from benchmarks.reports import results
from benchmarks.reports.results import PhaseResult
from benchmarks.stack_client import StackClient
from benchmarks.stack_shapes import SHAPES, StackBatch
from heat_convergence.testing.daemon_processes import (
    ConfigOptions,
    ServiceDeployment,
    merge_options,
    wait_until,
)

DEFAULT_SHAPES = ("wide:1000", "chain:200", "layered:10x20", "fanin:200", "small:20")
PROJECT = "benchmark"
PHASES = ("create", "no-op", "change-one", "delete")
CLIENTS = 8
_LIMITS = ("max_template_size", "max_json_body_size", "max_template_evaluation_steps")
INSTRUMENTED_DAEMON = Path(__file__).with_name("instrumented_daemon.py")


class ShapeBenchmark:
    """Measures the phases on a running deployment."""

    def __init__(self, deployment: ServiceDeployment, counts: Path, reads: int = 0) -> None:
        self._counts = counts
        self._deployment = deployment
        self._reads = reads
        self._stacks = StackClient(deployment.endpoint, PROJECT)

    @property
    def _groups(self) -> dict[int, str]:
        """Components by process group; daemons may be added between two measurements."""
        groups = {daemon.pid: daemon.log.stem for daemon in self._deployment.daemons}
        return {**groups, os.getpgid(0): "driver"}

    def measure_median(
        self, spec: str, repeat: int, phases: Sequence[str] = PHASES
    ) -> Iterator[PhaseResult]:
        """Yield for every phase the run with the median duration; a single run as it goes on."""
        if repeat == 1:
            yield from self.measure(spec, phases)
            return
        runs = [list(self.measure(spec, phases)) for _ in range(repeat)]
        yield from (results.median_row(rows) for rows in zip(*runs, strict=True))

    def measure(self, spec: str, phases: Sequence[str] = PHASES) -> Iterator[PhaseResult]:
        """Yield the result of the phases of a shape such as ``wide:1000``."""
        name, _, size = spec.partition(":")
        before, after = SHAPES[name](size, "before"), SHAPES[name](size, "after")
        names = [f"bench-{name}-{size}-{number}" for number in range(len(before.templates))]
        paths: list[str] = []

        def create(number: int) -> str:
            """Create one stack."""
            return self._stacks.create(names[number], before.templates[number])

        def update(target: StackBatch) -> Callable[[int], None]:
            """Return a function that updates one stack to the target shape."""
            return lambda number: self._stacks.update(paths[number], target.templates[number])

        def delete(number: int) -> None:
            """Delete one stack."""
            self._stacks.delete(paths[number])

        with ThreadPoolExecutor(CLIENTS) as pool:
            request: dict[str, Callable[[int], object]] = dict(
                zip(PHASES, (create, update(before), update(after), delete), strict=True)
            )
            for phase in phases:
                yield self._phase(spec, phase, before, request[phase], paths, pool)
                if phase == "create" and self._reads and name == "wide":
                    yield from measure_reads(
                        self._stacks,
                        paths[0],
                        spec=spec,
                        resources=before.resources,
                        count=self._reads,
                    )

    def _phase(
        self,
        spec: str,
        phase: str,
        work: StackBatch,
        request: Callable[[int], object],
        paths: list[str],
        pool: ThreadPoolExecutor,
    ) -> PhaseResult:
        before = self._counters_by_component()
        cpu_before = cpu_seconds_by_component(self._groups)
        started_at = time.monotonic()
        answers = list(pool.map(partial(_timed, request), range(len(work.templates))))
        requests_s = time.monotonic() - started_at
        if phase == "create":
            paths.extend(str(answer) for answer, _ in answers)
        for path in paths:
            self._stacks.wait(path)
        total_s = time.monotonic() - started_at
        cpu_after = cpu_seconds_by_component(self._groups)
        after = self._counters_by_component()
        grown = {part: count - before.get(part, CounterValues()) for part, count in after.items()}
        counts = sum(grown.values(), CounterValues())
        return PhaseResult(
            shape=spec,
            phase=phase,
            resources=work.resources,
            total_s=total_s,
            requests_s=requests_s,
            per_second=work.resources / total_s,
            ms_per_link=1000 * total_s / work.longest_path,
            statements_per_resource=counts["statements"] / work.resources,
            messages_per_resource=counts["messages"] / work.resources,
            processor_s={
                component: round(cpu_after[component] - cpu_before[component], 2)
                for component in cpu_after
            },
            peak_memory_mb=peak_memory_mb_by_component(self._groups),
            latency_ms=_latencies([ms for _, ms in answers], counts),
            jobs=counts.handled("converge"),
            commits=counts["commits"],
            statements_by_component={part: each["statements"] for part, each in grown.items()},
        )

    def _counters_by_component(self) -> dict[str, CounterValues]:
        groups, found = self._groups, defaultdict[str, CounterValues](CounterValues)
        for pid, counts in read_process_counts(self._counts).items():
            try:
                component = groups.get(os.getpgid(pid), "other")
            except ProcessLookupError:
                component = "other"  # It has ended since.
            found[component] += counts
        return found


def _timed(request: Callable[[int], object], number: int) -> tuple[object, float]:
    """Return the answer to a request, and its milliseconds."""
    started_at = time.monotonic()
    return request(number), 1000 * (time.monotonic() - started_at)


def _latencies(requests_ms: list[float], counts: CounterValues) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        found[f"request {name}"] = round(results.percentile(requests_ms, share), 1)
        for step in TIMED:
            value_ms = counts.percentile_ms(step, share)
            if value_ms is not None:
                found[f"{step} {name}"] = value_ms
    return found


@contextmanager
def benchmark_deployment(
    options: argparse.Namespace, config_options: ConfigOptions | None = None
) -> Iterator[tuple[ServiceDeployment, Path]]:
    """Run the service for the command line's options.

    Yields:
        The deployment and the folder of its counters.  ``config_options`` are overridden by the
        benchmark's own.
    """
    temporary_backends.clean_up_on_sigterm()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hc-bench-")))
        if options.keep_logs:
            folder = options.keep_logs
            folder.mkdir(parents=True, exist_ok=True)
        counts = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hc-counts-")))
        os.environ[COUNTS_FOLDER_VARIABLE] = str(counts)
        database_url = stack.enter_context(
            temporary_backends.temporary_database(options.database, folder)
        )
        transport_url = "fake://"
        if options.bus != "fake":
            url = temporary_backends.DEFAULT_BROKER_URL if options.bus == "rabbit" else options.bus
            transport_url = stack.enter_context(temporary_backends.temporary_vhost(url))
        deployment = ServiceDeployment(
            folder,
            database_url=database_url,
            transport_url=transport_url,
            concurrency=options.backend,
            options=merge_options(
                {"DEFAULT": dict.fromkeys(_LIMITS, 64_000_000)}, config_options or {}
            ),
            launcher=[sys.executable, str(INSTRUMENTED_DAEMON)],
        )
        stack.enter_context(deployment)
        if options.bus == "fake":
            deployment.start_standalone()
        else:
            deployment.upgrade_database()
            deployment.start(engines=options.engines, observers=options.observers)
        client = StackClient(deployment.endpoint, PROJECT)
        wait_until(client.is_ready, "the API can use the database")
        yield deployment, counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print a table."""
    parser = argument_parser(__doc__)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE:SIZE", type=shape_spec)
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which medians are kept")
    parser.add_argument("--output", type=Path, help="write the rows here, too, as JSON")
    parser.add_argument("--reads", type=int, default=0, help="of each kind, of wide stacks")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--cpu", choices=["show", "hide"], default="hide")
    options = parser.parse_args(arguments)
    if options.repeat > 1 and "delete" not in options.phases:
        parser.error("--repeat creates the same stacks again and needs the phase delete")
    environment = results.environment(**settings(options), repeat=options.repeat)
    print(_head(options))
    rows: list[PhaseResult] = []
    with benchmark_deployment(options) as (deployment, counts):
        bench = ShapeBenchmark(deployment, counts, options.reads)
        for spec in options.shapes or DEFAULT_SHAPES:
            for row in bench.measure_median(spec, options.repeat, options.phases):
                rows.append(row)
                print(_line(row, options.cpu), flush=True)
                if options.output:  # A run that takes hours is not lost when a later phase fails.
                    results.write(options.output, environment, rows)
    return 0


def settings(options: argparse.Namespace) -> dict[str, object]:
    """Return the options that decide about the figures of a run."""
    names = ("database", "bus", "backend", "engines", "observers")
    return {
        name: getattr(options, name).partition("://")[0]
        if name in ("database", "bus")
        else getattr(options, name)
        for name in names
    }


def _head(options: argparse.Namespace) -> str:
    backends = f"{options.database}, {options.bus}, {options.backend}, {os.cpu_count()} processors"
    daemons = f"{options.engines} engines, {options.observers} observers"
    names = "shape|phase|seconds|resources/s|ms/link|statements/res|messages/res".split("|")
    return f"{backends}, {daemons}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}"


def _line(row: PhaseResult, cpu: str) -> str:
    cells = [
        row.shape,
        row.phase,
        f"{row.total_s:.2f}",
        f"{row.per_second:.0f}",
        f"{row.ms_per_link:.1f}",
        f"{row.statements_per_resource:.2f}",
        f"{row.messages_per_resource:.3f}",
    ]
    line = f"| {' | '.join(cells)} |"
    if cpu == "show":
        cpu_before = ", ".join(
            f"{component} {used}" for component, used in sorted(row.processor_s.items())
        )
        line += f"\n  request {row.requests_s:.2f} s; processor seconds: {cpu_before}"
    return line


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that ``benchmark_deployment`` reads."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--database", default="sqlite", help="sqlite, mariadb, postgresql, or a server's URL"
    )
    parser.add_argument(
        "--bus", default="rabbit", help="rabbit, a broker's URL, or fake: all in one process"
    )
    parser.add_argument("--engines", type=int, default=2)
    parser.add_argument("--observers", type=int, default=1)
    parser.add_argument("--backend", choices=["eventlet", "threading"], default="eventlet")
    parser.add_argument("--keep-logs", type=Path, help="folder for configuration and logs")
    return parser


def shape_spec(spec: str) -> str:
    """Return the name and size of a shape as they are, if there is such a shape."""
    name, _, size = spec.partition(":")
    if name not in SHAPES or not size:
        raise argparse.ArgumentTypeError(f"{spec!r} is not one of {', '.join(SHAPES)}, with :SIZE")
    return spec


if __name__ == "__main__":
    sys.exit(main())
