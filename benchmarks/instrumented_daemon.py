"""A daemon that counts its SQL statements, commits and messages, and times its jobs.

``python instrumented_daemon.py api|engine|observer|standalone ARGUMENTS…`` runs the daemon
as its console script does.  Every worker process keeps its counters in a file of its own in
the folder that HEAT_CONVERGENCE_COUNTS names; ``read_counts`` and ``read_process_counts`` read
them.  Counting in the process that sends is exact, works with every database and bus, and is
independent of other users of the same server.  Imports nothing of ``benchmarks``, as it is
started by its path.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import sys
import threading
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

COUNTS_FOLDER_VARIABLE = "HEAT_CONVERGENCE_COUNTS"
_PROGRAM = "heat-convergence"
COUNTERS = ("statements", "messages", "commits")
TIMED = ("converge", "observe", "job wait")
_BUCKETS = 160  # per timed step, from 0.1 ms, eight to an octave: the last is above 90 s
_FIRST_S = 0.0001
_PER_OCTAVE = 8
_NUMBER = struct.Struct("q")
_NUMBERS = struct.Struct(f"{len(COUNTERS) + len(TIMED) * _BUCKETS}q")


@dataclass(frozen=True, slots=True)
class CounterValues:
    """Counters of one or more processes.

    Attributes:
        numbers: the counters, in the order of ``COUNTERS``, and then the buckets of ``TIMED``.
    """

    numbers: tuple[int, ...] = (0,) * (len(COUNTERS) + len(TIMED) * _BUCKETS)

    def __add__(self, other: CounterValues) -> CounterValues:
        return CounterValues(
            tuple(a + b for a, b in zip(self.numbers, other.numbers, strict=True))
        )

    def __sub__(self, other: CounterValues) -> CounterValues:
        return CounterValues(
            tuple(a - b for a, b in zip(self.numbers, other.numbers, strict=True))
        )

    def __getitem__(self, counter: str) -> int:
        return self.numbers[COUNTERS.index(counter)]

    def handled(self, step: str) -> int:
        """Return how often a step of ``TIMED`` was timed."""
        return sum(self._buckets(step))

    def percentile_ms(self, step: str, share: float) -> float | None:
        """Return the upper bound of the bucket that holds a percentile; None without values."""
        buckets = self._buckets(step)
        rank, passed = share * sum(buckets), 0
        for number, count in enumerate(buckets):
            passed += count
            if count and passed >= rank:
                return float(f"{1000 * _FIRST_S * 2 ** (number / _PER_OCTAVE):.3g}")
        return None

    def _buckets(self, step: str) -> tuple[int, ...]:
        first = len(COUNTERS) + TIMED.index(step) * _BUCKETS
        return self.numbers[first : first + _BUCKETS]


def bucket_index(step: str, duration_s: float) -> int:
    """Return which number of ``CounterValues`` counts this duration."""
    octaves = math.log2(max(duration_s, _FIRST_S) / _FIRST_S)
    bucket = min(math.ceil(octaves * _PER_OCTAVE), _BUCKETS - 1)
    return len(COUNTERS) + TIMED.index(step) * _BUCKETS + bucket


def read_process_counts(folder: Path) -> dict[int, CounterValues]:
    """Return the counters of every process so far, by its id."""
    return {
        int(path.stem): CounterValues(_NUMBERS.unpack(path.read_bytes()))
        for path in folder.glob("*.counts")
    }


def read_counts(folder: Path) -> tuple[int, int]:
    """Return the numbers of statements and messages of all processes so far."""
    total = sum(read_process_counts(folder).values(), CounterValues())
    return total["statements"], total["messages"]


class ProcessCounters:
    """The counters of this process; a forked process starts a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = 0
        self._map: mmap.mmap | None = None

    def add(self, index: int, increment: int = 1) -> None:
        """Increment one of the numbers of ``CounterValues``."""
        with self._lock:
            if self._map is None or self._pid != os.getpid():
                self._map = self._open()
            (number,) = _NUMBER.unpack_from(self._map, index * _NUMBER.size)
            _NUMBER.pack_into(self._map, index * _NUMBER.size, number + increment)

    def _open(self) -> mmap.mmap:
        self._pid = os.getpid()
        path = self._folder / f"{self._pid}.counts"
        path.write_bytes(bytes(_NUMBERS.size))
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), _NUMBERS.size)


def _count(counts: ProcessCounters) -> None:
    """Install the counters.

    The modules are imported here because they must be loaded after eventlet's patching.
    """
    sqlalchemy = import_module("sqlalchemy")
    counting = import_module("heat_convergence.testing.statement_counter")
    bus = import_module("heat_convergence.rpc.bus").RpcBus

    def count_statement(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        counts.add(0, counting.count_sent_statements(statement, parameters, context, many))

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", count_statement)
    sqlalchemy.event.listen(sqlalchemy.Engine, "commit", lambda _connection: counts.add(2))
    original_cast = bus._cast

    def counted_cast(self: Any, *arguments: Any) -> None:
        counts.add(1)
        original_cast(self, *arguments)

    bus._cast = counted_cast


def _time(counts: ProcessCounters) -> None:
    """Time the jobs and observations of this process, and the waits of jobs that it claims.

    Several messages to an observer may be one observation.
    """
    engine = import_module("heat_convergence.engine.engine").Engine
    observer = import_module("heat_convergence.observer.observer").Observer
    for of_class, method, name in (
        (engine, "converge", "converge"),
        (observer, "_process_named", "observe"),
    ):
        setattr(of_class, method, _timed(getattr(of_class, method), name, counts))
    waits = import_module("heat_convergence.common.metrics").JOB_WAIT_SECONDS
    observe = waits.observe

    def timed_observe(wait_s: float, *arguments: Any) -> None:
        counts.add(bucket_index("job wait", wait_s))
        observe(wait_s, *arguments)

    waits.observe = timed_observe


def _timed(work: Any, name: str, counts: ProcessCounters) -> Any:
    def timed(*arguments: Any) -> None:
        started_s = time.monotonic()
        try:
            work(*arguments)
        finally:
            counts.add(bucket_index(name, time.monotonic() - started_s))

    return timed


def main() -> int:
    """Run the daemon named on the command line."""
    component, arguments = sys.argv[1], sys.argv[2:]
    concurrency = import_module("heat_convergence.cli.concurrency")
    program = f"{_PROGRAM}-{component}"
    concurrency.set_up_backend(concurrency.configured_backend(arguments, prog=program))
    counts = ProcessCounters(Path(os.environ[COUNTS_FOLDER_VARIABLE]))
    _count(counts)
    _time(counts)
    sys.argv[0] = program
    if component == "standalone":
        return int(import_module("heat_convergence.cli.daemons.standalone").main(arguments))
    module = "api_daemon" if component == "api" else "daemon_service"
    daemons = import_module(f"heat_convergence.cli.daemons.{module}")
    return int(getattr(daemons, f"run_{component}")(arguments))


if __name__ == "__main__":
    sys.exit(main())
