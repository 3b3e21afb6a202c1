"""Response times of one API process beside idle connections and slow senders.

Starts the API daemon on SQLite, opens connections that are kept alive after a request and
others whose request never arrives to its end, and meanwhile sends requests from a few clients.
Prints one JSON line per concurrency backend.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests

from benchmarks.faults.bad_input import answers
from heat_convergence.testing.daemon_processes import API, ServiceDeployment, wait_until

PATH = "/v1/benchmark/stacks"
KEPT = b"GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n"
PARTS = (
    b"POST /v1/benchmark/sta",
    b"POST /v1/benchmark/stacks HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    b"POST /v1/benchmark/stacks HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{",
)


def main() -> None:
    """Measure both backends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=int, default=2000, help="idle connections")
    parser.add_argument("--slow", type=int, default=200, help="slow senders")
    parser.add_argument("--clients", type=int, default=4, help="clients that are measured")
    parser.add_argument("--requests", type=int, default=250, help="requests of each client")
    parser.add_argument("--backends", nargs="+", default=["eventlet", "threading"])
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for backend in arguments.backends:
        print(json.dumps({"backend": backend, **measure(backend, arguments)}), flush=True)


def measure(backend: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Return what the clients of one backend saw."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ServiceDeployment(
            Path(folder),
            database_url=f"sqlite:///{folder}/benchmark.sqlite",
            transport_url="fake://",
            concurrency=backend,
        ) as deployment,
    ):
        deployment.upgrade_database()
        deployment.add_daemon(API).start()
        wait_until(lambda: answers(deployment.port), "the API can use the database")
        alone = run_clients(deployment.endpoint, arguments)
        started_s = time.monotonic()
        with open_connections(deployment.endpoint, arguments):
            opened_s = time.monotonic() - started_s
            beside = run_clients(deployment.endpoint, arguments)
        return {"alone": alone, "beside": beside, "seconds_to_open": round(opened_s, 2)}


@contextmanager
def open_connections(endpoint: str, arguments: argparse.Namespace) -> Iterator[None]:
    """Hold the idle connections and the slow senders open; the latter send a byte a second."""
    url = urlsplit(endpoint)
    address = (str(url.hostname), int(url.port or 80))
    idle = [socket.create_connection(address, timeout=60) for _ in range(arguments.idle)]
    for connection in idle:
        connection.sendall(KEPT)
        connection.recv(65536)
    slow = [socket.create_connection(address, timeout=60) for _ in range(arguments.slow)]
    for number, connection in enumerate(slow):
        connection.sendall(PARTS[number % len(PARTS)])
    ended = threading.Event()
    trickle = threading.Thread(target=_trickle, args=(slow, ended))
    trickle.start()
    try:
        yield
    finally:
        ended.set()
        trickle.join()
        for connection in idle + slow:
            connection.close()


def _trickle(connections: list[socket.socket], ended: threading.Event) -> None:
    while not ended.wait(1):
        for connection in list(connections):
            try:
                connection.sendall(b"x")
            except OSError:  # refused for being slow
                connections.remove(connection)


def run_clients(endpoint: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Return the response times that the clients saw, in milliseconds."""
    times: list[float] = []
    statuses: dict[str, int] = {}

    def work() -> None:
        session = requests.Session()
        for _ in range(arguments.requests):
            started_s = time.monotonic()
            try:
                status = str(session.get(endpoint + PATH, timeout=30).status_code)
            except requests.RequestException as error:
                status = type(error).__name__
            times.append((time.monotonic() - started_s) * 1000)
            statuses[status] = statuses.get(status, 0) + 1

    threads = [threading.Thread(target=work) for _ in range(arguments.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    return {
        "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[int(len(times) * 0.99)], 1),
        "max_ms": round(times[-1], 1),
        "statuses": statuses,
    }


if __name__ == "__main__":
    main()
