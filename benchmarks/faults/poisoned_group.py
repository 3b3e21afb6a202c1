"""The cost of a group with rows that cannot be processed, for the stacks beside it.

Creates healthy stacks from many clients at once; then the same again, while a stack with a
resource group is in progress whose stored values are damaged, and once more without it. Prints
one JSON line for each.

    python -m benchmarks.faults.poisoned_group --stacks 100
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.faults.bad_input import answers
from benchmarks.process_usage import cpu_seconds_by_component
from benchmarks.stack_client import StackClient
from benchmarks.temporary_backends import DEFAULT_BROKER_URL, temporary_database, temporary_vhost
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.tables import resource
from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

TYPE = "OS::Heat::TestResource"
MEMBERS = 20
HEALTHY = {
    "heat_template_version": "2021-04-16",
    "resources": {
        name: {"type": TYPE, "properties": {"value": name, "wait_secs": 1}} for name in "abc"
    },
}
MEMBER = {"type": TYPE, "properties": {"wait_secs": 5}}
GROUP = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": MEMBERS, "resource_def": MEMBER},
        }
    },
}
DAMAGED = '{"a": '
COLUMNS = ("definition", "properties", "attributes", "data")


def main() -> None:
    """Measure the healthy stacks alone and beside the group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--stacks", type=int, default=100)
    parser.add_argument("--clients", type=int, default=10)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(temporary_database(arguments.database, folder))
        broker = stack.enter_context(temporary_vhost(arguments.broker))
        service = stack.enter_context(
            ServiceDeployment(folder, database_url=url, transport_url=broker)
        )
        service.upgrade_database()
        service.start()
        wait_until(lambda: answers(service.port), "the API can use the database")
        create_healthy(service, "first", arguments)  # every process has loaded what it needs
        found = create_healthy(service, "before", arguments)
        print(json.dumps({"beside": "nothing", **found}), flush=True)
        client, began = StackClient(service.endpoint, "poisoned"), time.monotonic()
        path = client.create("poisoned", GROUP)
        damaged = damage(url)
        found = create_healthy(service, "beside", arguments)
        status = wait_until_settled(client, path)
        print(
            json.dumps(
                {
                    "beside": "a damaged group",
                    **found,
                    "damaged_rows": damaged,
                    "group_status": status,
                    "group_settled_s": round(time.monotonic() - began, 1),
                    "log_lines": {
                        text: sum(daemon.count_in_log(text) for daemon in service.daemons)
                        for text in ("unexpected error:", "row set aside", "Traceback")
                    },
                }
            ),
            flush=True,
        )
        found = create_healthy(service, "after", arguments)
        print(json.dumps({"beside": "nothing", **found}), flush=True)


def damage(url: str) -> int:
    """Damage the stored values of the group and its members; return how many rows there are."""
    database = database_from_url(url)
    values = {name: sa.literal(DAMAGED, sa.Text) for name in COLUMNS}
    of_group = resource.c.project_id == "poisoned"

    def count_rows() -> int:
        with database.read() as connection:
            rows = sa.select(sa.func.count()).where(of_group)
            return int(connection.scalar(rows) or 0)

    try:
        wait_until(lambda: count_rows() > MEMBERS, "the group has its members")
        with database.write() as connection:
            damaged = connection.execute(resource.update().where(of_group).values(**values))
            return int(damaged.rowcount)
    finally:
        database.close()


def create_healthy(
    service: ServiceDeployment, prefix: str, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Create the healthy stacks; return how long they took, and what they cost the daemons."""
    groups = {daemon.pid: "service" for daemon in service.daemons}
    before_s = cpu_seconds_by_component(groups)["service"]

    def create(number: int) -> float:
        client, began = StackClient(service.endpoint, f"project-{number % 10}"), time.monotonic()
        client.wait(client.create(f"{prefix}-{number}", HEALTHY))
        return time.monotonic() - began

    began = time.monotonic()
    with ThreadPoolExecutor(arguments.clients) as pool:
        times_s = sorted(pool.map(create, range(arguments.stacks)))
    return {
        "stacks": len(times_s),
        "total_s": round(time.monotonic() - began, 1),
        "stack_p50_s": round(times_s[len(times_s) // 2], 2),
        "stack_max_s": round(times_s[-1], 2),
        "processor_s": round(cpu_seconds_by_component(groups)["service"] - before_s, 1),
    }


def wait_until_settled(client: StackClient, path: str) -> str:
    """Return the last status of a stack."""
    while (status := client.status(path)).endswith("IN_PROGRESS"):
        time.sleep(0.1)
    return status


if __name__ == "__main__":
    main()
