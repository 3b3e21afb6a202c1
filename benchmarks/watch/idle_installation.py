"""Processor time, wake-ups and memory of an installation that nobody uses.

Starts an API, two engines and an observer on a database and a virtual host of their own, lets
them settle, and prints one JSON line per process: its share of a processor, how often it woke up
per second, and its resident memory.  Wake-ups are the voluntary context switches of all threads.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.temporary_backends import DEFAULT_BROKER_URL, temporary_database, temporary_vhost
from heat_convergence.testing.daemon_processes import DaemonProcess, ServiceDeployment

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The state of a process at one time.

    Attributes:
        cpu_s: Processor seconds so far.
        wakeups: Voluntary context switches so far.
        resident_mb: Resident memory, in millions of bytes.
    """

    cpu_s: float
    wakeups: int
    resident_mb: float


def main() -> None:
    """Measure one installation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the measurement")
    parser.add_argument("--settle", type=float, default=20.0, help="seconds before it begins")
    parser.add_argument("--backends", nargs="+", default=["eventlet", "threading"])
    parser.add_argument("--database", default="mariadb", help="sqlite, mariadb, postgresql or URL")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL, help="URL of the broker")
    arguments = parser.parse_args()
    for backend in arguments.backends:
        for line in measure(backend, arguments):
            print(json.dumps({"backend": backend, **line}), flush=True)


def measure(backend: str, arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the figures of each process, and their sum."""
    with (
        tempfile.TemporaryDirectory() as folder,
        temporary_database(arguments.database, Path(folder)) as database_url,
        temporary_vhost(arguments.broker) as transport_url,
        ServiceDeployment(
            Path(folder),
            database_url=database_url,
            transport_url=transport_url,
            concurrency=backend,
            options={"observer": {"workers": 1}},
        ) as deployment,
    ):
        deployment.upgrade_database()
        deployment.start(engines=2)
        time.sleep(arguments.settle)
        before = {name: read(pid) for name, pid in processes(deployment.daemons)}
        time.sleep(arguments.seconds)
        total = 0.0
        for name, pid in processes(deployment.daemons):
            after, first = read(pid), before[name]
            share = (after.cpu_s - first.cpu_s) / arguments.seconds
            total += share
            yield {
                "process": name,
                "cpu_percent": round(100 * share, 2),
                "wakeups_per_s": round((after.wakeups - first.wakeups) / arguments.seconds, 1),
                "resident_mb": round(after.resident_mb, 1),
            }
        yield {"process": "all", "cpu_percent": round(100 * total, 2)}


def processes(daemons: list[DaemonProcess]) -> Iterator[tuple[str, int]]:
    """Yield name and id of every parent process and of its workers."""
    for daemon in daemons:
        name = daemon.log.stem
        yield f"{name} parent", daemon.pid
        for number, child in enumerate(descendants(daemon.pid), 1):
            yield f"{name} worker {number}", child


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes that a process has started, and of theirs."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = sorted(int(child) for task in tasks for child in task.read_text().split())
    return [one for child in children for one in (child, *descendants(child))]


def read(pid: int) -> ProcessState:
    """Return the state of a process."""
    folder = Path(f"/proc/{pid}")
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    pages = int((folder / "statm").read_text().split()[1])
    switches = 0
    for task in (folder / "task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                switches += int(line.split()[1])
    cpu_s = (int(stat[11]) + int(stat[12])) / _TICKS_PER_S
    return ProcessState(cpu_s, switches, pages * _PAGE_BYTES / 1e6)


if __name__ == "__main__":
    main()
