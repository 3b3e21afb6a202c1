"""Seconds from the kill of a process until its work goes on.

Starts the daemons of two hosts on a database and a virtual host of their own, and creates stacks
whose resources are in progress for a long time in a cloud of files; some calls take long, too.
Then kills one process after the other, and reads from the database when the first new step follows
and when nothing is left that waits for the process. Prints one JSON line per kill.

    python -m benchmarks.faults.recovery --stacks 50 --resources 260
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from urllib3.exceptions import HTTPError

from benchmarks.stack_client import RequestFailed, StackClient
from benchmarks.temporary_backends import DEFAULT_BROKER_URL, temporary_database, temporary_vhost
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.tables import event, resource, resource_graph
from heat_convergence.testing import file_cloud
from heat_convergence.testing.daemon_processes import API, ENGINE, OBSERVER, ServiceDeployment

TIMEOUT_S = 600
OVERDUE_S = 1.0
IN_FLIGHT = 200  # of one stack, the default of [engine] jobs_in_flight; the others follow
SLOW_SHARE = 20  # one resource of so many has slow calls
HOST = "host"  # its engine and its observer; it shares no folder of locks with the other
ROLES = {"api": API, "engine": ENGINE, "observer": OBSERVER}
VICTIMS = [*(f"{role} {process}" for role in ROLES for process in ("worker", "parent")), HOST]
_WORKER = re.compile(r" (\d+) INFO .* worker started: .* worker=(\S+)")


@dataclass(frozen=True, slots=True)
class HostPair:
    """The daemons of two hosts on one database and one bus."""

    first: ServiceDeployment
    second: ServiceDeployment

    def workers(self) -> dict[int, str]:
        """Return the worker ids of the process ids of engines and observers."""
        daemons = (*self.first.daemons, *self.second.daemons)
        logs = [daemon.log.read_text(errors="replace") for daemon in daemons]
        return {int(pid): worker for log in logs for pid, worker in _WORKER.findall(log)}


def main() -> None:
    """Measure the kill of each process."""
    arguments = _parser().parse_args()
    with ExitStack() as stack:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ[file_cloud.FOLDER_VARIABLE] = str(folder / "cloud")
        plugin = file_cloud.write_entry_point(folder / "plugin")
        os.environ["PYTHONPATH"] = f"{plugin}:{os.environ.get('PYTHONPATH', '')}"
        url = stack.enter_context(temporary_database(arguments.database, folder))
        broker = stack.enter_context(temporary_vhost(arguments.broker))
        hosts = start_hosts(folder, url, broker, stack, arguments.lease)
        database = database_from_url(url)
        stack.callback(database.close)
        create_stacks(hosts.first, arguments)
        expected = 0.95 * arguments.stacks * min(arguments.resources, IN_FLIGHT)
        until(lambda: count_busy(database) >= expected, time.monotonic())
        until(lambda: nothing_waits(database, datetime.now(UTC), set()), time.monotonic())
        # Leases that expired although nobody was killed: workers that were stalled for so long.
        print(json.dumps({"takeovers_before": count_takeovers(database)}), flush=True)
        for victim in arguments.victims:
            print(json.dumps(measure(victim, hosts, database)), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--stacks", type=int, default=50, help="each in a project of its own")
    parser.add_argument("--resources", type=int, default=260, help="resources of a stack")
    parser.add_argument("--shortest", type=float, default=60, help="seconds of the first build")
    parser.add_argument("--longest", type=float, default=1500, help="seconds of the last build")
    parser.add_argument("--call", type=float, default=20, help="seconds of a slow call")
    parser.add_argument("--lease", type=float, default=10, help="[engine] lease")
    parser.add_argument("--victims", nargs="+", default=VICTIMS, choices=VICTIMS)
    return parser


def start_hosts(folder: Path, url: str, broker: str, stack: ExitStack, lease_s: float) -> HostPair:
    """Start an API, two engine workers and two observer workers, and half of that elsewhere."""
    key = "recovery-benchmark-recovery-benchmark"
    shared: dict[str, Any] = {"database_url": url, "transport_url": broker}
    found = []
    for name, workers in (("first", 2), ("second", 1)):
        (folder / name).mkdir()
        options = {
            "DEFAULT": {"num_engine_workers": workers, "auth_encryption_key": key},
            "engine": {"lease": lease_s},
            "observer": {"workers": workers},
        }
        service = ServiceDeployment(folder / name, options=options, **shared)
        found.append(stack.enter_context(service))
    hosts = HostPair(*found)
    hosts.first.upgrade_database()
    hosts.first.start()
    start_second_host(hosts)
    return hosts


def start_second_host(hosts: HostPair) -> None:
    """Start the daemons of the second host again, or for the first time."""
    service = hosts.second
    daemons = service.daemons or [service.add_daemon(role) for role in (ENGINE, OBSERVER)]
    for daemon in daemons:
        daemon.start(wait=False)
    for daemon in daemons:
        daemon.wait_until_started()


def create_stacks(service: ServiceDeployment, arguments: argparse.Namespace) -> None:
    """Create stacks whose resources end one after the other, during the measurement."""
    resources = {}
    for number in range(arguments.resources):
        share = number / arguments.resources
        build_s = arguments.shortest + share * (arguments.longest - arguments.shortest)
        latency_s = arguments.call if number % SLOW_SHARE == 0 else 0
        resources[f"r{number}"] = {
            "type": file_cloud.FILE_TYPE,
            "properties": {"build_s": build_s, "latency_s": latency_s},
        }
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    for number in range(arguments.stacks):
        StackClient(service.endpoint, f"project-{number}").create("stack", template)


def count_busy(database: Database) -> int:
    """Return the number of resources in progress."""
    states = [JobState.AWAITING_OBSERVATION, JobState.RUNNING, JobState.POSTED]
    return read(database, sa.select(sa.func.count()).where(resource.c.job_state.in_(states)))


def count_takeovers(database: Database) -> int:
    """Return how often a job was taken over from a worker that died or was stalled."""
    return read(database, sa.select(sa.func.sum(resource_graph.c.takeover_count)))


def measure(victim: str, hosts: HostPair, database: Database) -> dict[str, Any]:
    """Kill a process, return how long its work stood still, and wait until it is replaced."""
    jobs, killed_at = count_busy(database), datetime.now(UTC)
    running = sa.select(sa.func.count()).where(resource.c.job_state == JobState.RUNNING)
    calls, began = read(database, running), time.monotonic()
    dead, replace = kill(victim, hosts)
    client = StackClient(hosts.first.endpoint, "project-0")
    conditions = {
        "first_step_s": lambda: has_step(database, killed_at),
        "api_answers_s": lambda: answers(client),
        **{
            f"{name}_s": partial(is_empty, database, waiting)
            for name, waiting in waiting_work(killed_at, dead).items()
        },
    }
    found: dict[str, Any] = {
        "killed": victim,
        "jobs_in_progress": jobs,
        "calls_under_way": calls,
    }
    met: set[str] = set()
    while len(met) < len(conditions):
        if time.monotonic() - began > TIMEOUT_S:
            raise TimeoutError("the work does not go on")
        new = {name for name in conditions if name not in met and conditions[name]()}
        found |= dict.fromkeys(new, round(time.monotonic() - began, 2))
        met |= new
        time.sleep(0.05)
    found["all_resumed_s"] = max(found[f"{name}_s"] for name in waiting_work(killed_at, dead))
    replace()
    return found


def kill(victim: str, hosts: HostPair) -> tuple[set[str], Callable[[], None]]:
    """Kill it; return the ids of its workers, and what waits until others stand in its place."""
    before = hosts.workers()
    if victim == HOST:
        pids = {child for daemon in hosts.second.daemons for child in children_of(daemon.pid)}
        hosts.second.close()
        return {before[pid] for pid in pids}, lambda: start_second_host(hosts)
    role, process = victim.split()
    daemon = hosts.first.daemons_with_role(ROLES[role])[0]
    if process == "parent":
        # The workers end by themselves when they notice that.
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.wait_for_exit()
        daemon.start(wait=False)  # as a service manager does
        return set(), daemon.wait_until_started
    pid, starts = children_of(daemon.pid)[0], daemon.start_count()
    os.kill(pid, signal.SIGKILL)
    dead = {before[pid]} if pid in before else set()
    return dead, lambda: _until_replaced(daemon.start_count, starts)


def _until_replaced(count: Callable[[], int], before: int) -> None:
    until(lambda: count() > before, time.monotonic())


def until(condition: Callable[[], bool], began: float) -> float:
    """Return the seconds since ``began`` when the condition is met."""
    while not condition():
        if time.monotonic() - began > TIMEOUT_S:
            raise TimeoutError("the work does not go on")
        time.sleep(0.05)
    return round(time.monotonic() - began, 2)


def answers(client: StackClient) -> bool:
    """Return whether the API answers."""
    try:
        client.wait("/stacks/none")  # 404 is an answer
    except (RequestFailed, HTTPError):
        return False
    return True


def has_step(database: Database, since: datetime) -> bool:
    """Return whether an action on a resource has started or ended since a time."""
    steps = sa.select(sa.func.count()).where(event.c.created_at > since)
    return read(database, steps) > 0


def waiting_work(killed_at: datetime, dead: set[str]) -> dict[str, Callable[[], Any]]:
    """Return the conditions of rows that wait for dead workers, by what they wait for."""
    overdue = timedelta(seconds=OVERDUE_S)
    return {
        "leases": lambda: resource.c.lease_owner.in_(dead),
        "messages": lambda: sa.and_(
            resource.c.job_state == JobState.POSTED, resource.c.posted_at < killed_at - overdue
        ),
        "polls": lambda: resource.c.observe_at < datetime.now(UTC) - overdue,
    }


def is_empty(database: Database, condition: Callable[[], Any]) -> bool:
    """Return whether no row meets a condition."""
    return read(database, sa.select(sa.func.count()).where(condition())) == 0


def nothing_waits(database: Database, killed_at: datetime, dead: set[str]) -> bool:
    """Return whether no job waits for dead workers or their messages, and no poll is overdue."""
    return all(is_empty(database, waiting) for waiting in waiting_work(killed_at, dead).values())


def read(database: Database, statement: Any) -> int:
    """Return the number that a query finds."""
    with database.read() as connection:
        return int(connection.scalar(statement) or 0)


def children_of(parent: int) -> list[int]:
    """Return the worker processes of a daemon, whichever of its threads started them."""
    lists = [path.read_text() for path in Path(f"/proc/{parent}/task").glob("*/children")]
    return sorted(int(child) for children in lists for child in children.split())


if __name__ == "__main__":
    main()
