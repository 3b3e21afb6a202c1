"""Response times of one API process when many clients create small stacks at once.

Each client creates its stacks one after the other, without waiting for them, and then waits for
all. Prints one JSON line for each number of clients. With ``--lists``, the first project's stacks
are then listed so often, all at once and a page of them.

    python -m benchmarks.parallel_clients --clients 100 --stacks 5 --resources 10 --engines 2
    python -m benchmarks.parallel_clients --stacks 500 --resources 1 --projects 1 --lists 100
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from urllib3.exceptions import HTTPError

from benchmarks.faults.bad_input import answers
from benchmarks.reports import results
from benchmarks.stack_client import RequestFailed, StackClient
from benchmarks.stack_shapes import wide
from benchmarks.temporary_backends import (
    DEFAULT_BROKER_URL,
    clean_up_on_sigterm,
    temporary_database,
    temporary_vhost,
)
from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

_PAGE = "limit=20"


def template(resources: int) -> dict[str, Any]:
    """Return a template of so many independent resources."""
    return wide(str(resources), "value").templates[0]


def main(command: Sequence[str] | None = None) -> None:
    """Measure each number of clients on the same daemons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--concurrency", default="eventlet", choices=["eventlet", "threading"])
    parser.add_argument("--clients", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--stacks", type=int, default=20, help="stacks of each client")
    parser.add_argument("--projects", type=int, default=10, help="the clients' projects")
    parser.add_argument("--resources", type=int, default=3, help="of each stack")
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--lists", type=int, default=0, help="lists of stacks that are measured")
    parser.add_argument("--output", type=Path, help="write the rows here, too, as JSON")
    arguments = parser.parse_args(command)
    environment = results.environment(
        **{name: getattr(arguments, name) for name in ("database", "concurrency", "engines")}
    )
    rows = []
    clean_up_on_sigterm()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(
            ServiceDeployment(
                folder,
                database_url=stack.enter_context(temporary_database(arguments.database, folder)),
                transport_url=stack.enter_context(temporary_vhost(arguments.broker)),
                concurrency=arguments.concurrency,
                options={"DEFAULT": {"max_stacks_per_tenant": -1}},
            )
        )
        service.upgrade_database()
        service.start(engines=arguments.engines)
        wait_until(lambda: answers(service.port), "the API can use the database")
        for clients in arguments.clients:
            rows.append(measure(service, clients, arguments))
            if arguments.lists:
                rows[-1] |= measure_lists(service, arguments.lists)
            print(json.dumps(rows[-1]), flush=True)
    if arguments.output:
        results.write(arguments.output, environment, rows)


def measure(
    service: ServiceDeployment, clients: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return what so many clients saw."""
    times_ms: list[float] = []
    errors: Counter[str] = Counter()
    guard = Lock()

    body = template(arguments.resources)

    def work(number: int) -> None:
        project = f"project{number % arguments.projects}"
        client = StackClient(service.endpoint, project)
        paths = []
        for stack in range(arguments.stacks):
            started = time.monotonic()
            try:
                paths.append(client.create(f"c{clients}-{number}-{stack}", body))
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
    stacks = clients * arguments.stacks
    return {
        "clients": clients,
        "stacks": stacks,
        "resources": stacks * arguments.resources,
        "total_s": round(total_s, 1),
        "resources_per_second": round(stacks * arguments.resources / total_s, 1),
        "create_p50_ms": round(results.percentile(times_ms, 0.5)),
        "create_p99_ms": round(results.percentile(times_ms, 0.99)),
        "errors": dict(errors),
    }


def measure_lists(service: ServiceDeployment, count: int) -> dict[str, Any]:
    """Return the response times of lists of the first project's stacks."""
    client = StackClient(service.endpoint, "project0")
    found: dict[str, Any] = {}
    for name, query in (("list", ""), ("page", f"?{_PAGE}")):
        times_ms = []
        for _ in range(count):
            started = time.monotonic()
            response = client.get(f"/stacks{query}")
            times_ms.append((time.monotonic() - started) * 1000)
        found[f"{name}_stacks"] = len(json.loads(response.data)["stacks"])
        for share in (50, 99):
            found[f"{name}_p{share}_ms"] = round(results.percentile(times_ms, share / 100), 1)
    return found


if __name__ == "__main__":
    main()
