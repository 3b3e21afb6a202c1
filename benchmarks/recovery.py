"""Seconds from the kill of a process until its work goes on.

Starts the daemons on a database and a virtual host of its own, creates stacks whose resources are
in progress for a long time, kills one process, and reads from the database when the first new step
follows and when nothing is left that waits for the process. Prints one JSON line per kill.

    python benchmarks/recovery.py --stacks 50 --resources 200
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from stack_client import RequestFailed, StackClient
from temporary_backends import DEFAULT_BROKER_URL, temporary_database, temporary_vhost
from urllib3.exceptions import HTTPError

from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.tables import event, resource
from heat_convergence.testing.daemon_processes import API, ENGINE, OBSERVER, ServiceDeployment

TIMEOUT_S = 600
OVERDUE_S = 1.0
BUSY_S = 40  # at most, of a resource; the next one of its chain follows
CHAIN = 20
ROLES = {"api": API, "engine": ENGINE, "observer": OBSERVER}
VICTIMS = [f"{role} {process}" for role in ROLES for process in ("worker", "parent")]


def main() -> None:
    """Measure the kill of each process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--stacks", type=int, default=50)
    parser.add_argument("--resources", type=int, default=200, help="busy resources of a stack")
    parser.add_argument("--victims", nargs="+", default=VICTIMS, choices=VICTIMS)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(temporary_database(arguments.database, folder))
        broker = stack.enter_context(temporary_vhost(arguments.broker))
        options = {
            "DEFAULT": {"num_engine_workers": 2, "max_stacks_per_tenant": -1},
            "observer": {"workers": 2},
        }
        service = stack.enter_context(
            ServiceDeployment(folder, database_url=url, transport_url=broker, options=options)
        )
        service.upgrade_database()
        service.start()
        database = database_from_url(url)
        stack.callback(database.close)
        create_stacks(service, arguments)
        expected = 0.8 * arguments.stacks * arguments.resources
        until(lambda: count_busy(database) >= expected, time.monotonic())
        for victim in arguments.victims:
            print(json.dumps(measure(victim, service, database)), flush=True)


def create_stacks(service: ServiceDeployment, arguments: argparse.Namespace) -> None:
    """Create stacks of chains, of which one resource is BUSY and polled at any time."""
    client = StackClient(service.endpoint, "benchmark")
    resources = {}
    for chain in range(arguments.resources):
        for link in range(CHAIN):
            needed = {"depends_on": f"r{chain}-{link - 1}"} if link else {}
            resources[f"r{chain}-{link}"] = {
                "type": "OS::Heat::TestResource",
                "properties": {"action_wait_secs": {"create": 2 + chain % BUSY_S}},
                **needed,
            }
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    for number in range(arguments.stacks):
        client.create(f"stack-{number}", template)


def count_busy(database: Database) -> int:
    """Return the number of resources in progress."""
    states = [JobState.AWAITING_OBSERVATION, JobState.RUNNING, JobState.POSTED]
    return read(database, sa.select(sa.func.count()).where(resource.c.job_state.in_(states)))


def measure(victim: str, service: ServiceDeployment, database: Database) -> dict[str, Any]:
    """Kill a process and return how long its work stood still."""
    role, process = victim.split()
    daemon = service.daemons_with_role(ROLES[role])[0]
    client = StackClient(service.endpoint, "benchmark")
    jobs, killed_at, began = count_busy(database), datetime.now(UTC), time.monotonic()
    if process == "parent":
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.wait_for_exit()
        daemon.start(wait=False)  # as a service manager does
    else:
        os.kill(child_of(daemon.pid), signal.SIGKILL)
    return {
        "killed": victim,
        "jobs_in_progress": jobs,
        "first_step_s": until(lambda: has_step(database, killed_at), began),
        "api_answers_s": until(lambda: answers(client), began),
        "all_resumed_s": until(lambda: nothing_waits(database, killed_at), began),
    }


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


def nothing_waits(database: Database, killed_at: datetime) -> bool:
    """Return whether no call is older than the kill, and no poll is overdue."""
    waits = sa.select(sa.func.count()).where(
        sa.or_(
            sa.and_(
                resource.c.job_state.in_([JobState.RUNNING, JobState.POSTED]),
                resource.c.posted_at < killed_at,
            ),
            resource.c.observe_at < datetime.now(UTC) - timedelta(seconds=OVERDUE_S),
        )
    )
    return read(database, waits) == 0


def read(database: Database, statement: Any) -> int:
    """Return the number that a query finds."""
    with database.read() as connection:
        return int(connection.scalar(statement) or 0)


def child_of(parent: int) -> int:
    """Return the first worker process of a daemon."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(children[0])


if __name__ == "__main__":
    main()
