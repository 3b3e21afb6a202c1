"""Response times of one API process when many clients create small stacks at once.

Each client creates its stacks one after the other, without waiting for them, and then waits for
all. Prints one JSON line for each number of clients.

    python -m benchmarks.parallel_clients --clients 20 100 --stacks 20
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from urllib3.exceptions import HTTPError

from benchmarks.faults.bad_input import answers
from benchmarks.stack_client import RequestFailed, StackClient
from benchmarks.temporary_backends import DEFAULT_BROKER_URL, temporary_database, temporary_vhost
from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "resources": {
        name: {"type": "OS::Heat::TestResource", "properties": {"value": name}} for name in "abc"
    },
}


def main() -> None:
    """Measure each number of clients on the same daemons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--concurrency", default="eventlet", choices=["eventlet", "threading"])
    parser.add_argument("--clients", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--stacks", type=int, default=20, help="stacks of each client")
    parser.add_argument("--projects", type=int, default=10, help="the clients' projects")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(
            ServiceDeployment(
                folder,
                database_url=stack.enter_context(temporary_database(arguments.database, folder)),
                transport_url=stack.enter_context(temporary_vhost(arguments.broker)),
                concurrency=arguments.concurrency,
            )
        )
        service.upgrade_database()
        service.start()
        wait_until(lambda: answers(service.port), "the API can use the database")
        for clients in arguments.clients:
            print(json.dumps(measure(service, clients, arguments)), flush=True)


def measure(
    service: ServiceDeployment, clients: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return what so many clients saw."""
    times_ms: list[float] = []
    errors: Counter[str] = Counter()
    guard = Lock()

    def work(number: int) -> None:
        project = f"project{number % arguments.projects}"
        client = StackClient(service.endpoint, project)
        paths = []
        for stack in range(arguments.stacks):
            started = time.monotonic()
            try:
                paths.append(client.create(f"c{clients}-{number}-{stack}", TEMPLATE))
            except (RequestFailed, HTTPError) as error:
                with guard:
                    errors[str(error)[-60:]] += 1
            with guard:
                times_ms.append((time.monotonic() - started) * 1000)
        for path in paths:
            try:
                client.wait(path)
            except (RequestFailed, HTTPError) as error:
                with guard:
                    errors[str(error)[-60:]] += 1

    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))
    total_s = time.monotonic() - began
    times_ms.sort()
    return {
        "clients": clients,
        "stacks": clients * arguments.stacks,
        "total_s": round(total_s, 1),
        "create_p50_ms": round(times_ms[len(times_ms) // 2]),
        "create_p99_ms": round(times_ms[int(len(times_ms) * 0.99)]),
        "errors": dict(errors),
    }


if __name__ == "__main__":
    main()
