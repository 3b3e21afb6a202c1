"""The cost of malformed, slow and endless requests for one API process.

Starts the API on SQLite, as a daemon on eventlet and on native threads and as a WSGI application
behind waitress. Then opens many connections with one kind of bad input after the other, and
measures what they are answered, how long the last of them lasts, how much the memory of the
process grows and how long other clients wait meanwhile. Prints one JSON line for each.

    python -m benchmarks.faults.bad_input --connections 50
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3

from benchmarks.faults.recovery import children_of
from heat_convergence.testing.daemon_processes import API, ServiceDeployment, wait_until

WSGI = "wsgi"
PATH = "/v1/benchmark/stacks"
POST = b"POST /v1/benchmark/stacks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
GET = b"GET /v1/benchmark/stacks HTTP/1.1\r\nHost: x\r\n"
BLOCK = b"x" * 65536
GIVE_UP_S = 180.0


@dataclass(frozen=True, slots=True)
class BadInput:
    """The bytes that a client sends.

    Attributes:
        name: Words for the table.
        first: Bytes at the beginning.
        repeated: Bytes that follow until the server closes the connection.
        pause_s: Seconds between them.
        ends: Whether the client sends the end of its data after the first bytes.
        leaves: Whether the client closes the connection after the first bytes.
    """

    name: str
    first: bytes
    repeated: bytes = b""
    pause_s: float = 0.0
    ends: bool = False
    leaves: bool = False


INPUTS = (
    BadInput("no byte", b""),
    BadInput("head, a byte a second", GET[:-2] + b"\r\nX-A: ", b"x", 1.0),
    BadInput("body, a byte a second", POST + b"Content-Length: 5000\r\n\r\n{", b"x", 1.0),
    BadInput("body cut off", POST + b"Content-Length: 5000\r\n\r\n{", ends=True),
    BadInput("body of 10 TB", POST + b"Content-Length: 9999999999999\r\n\r\n", BLOCK),
    BadInput(
        "endless chunks",
        POST + b"Transfer-Encoding: chunked\r\n\r\n",
        b"10000\r\n" + BLOCK + b"\r\n",
    ),
    BadInput("endless chunk line", POST + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65536),
    BadInput(
        "endless trailers",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
        b"X-A: b\r\n" * 8192,
    ),
    BadInput("endless request line", b"GET /", BLOCK),
    BadInput("endless header", GET + b"X-A: ", BLOCK),
    BadInput("endless headers", GET, b"X-A: b\r\n" * 8192),
    BadInput("no HTTP (TLS)", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    BadInput("header without colon", GET + b"no colon\r\n\r\n"),
    BadInput("negative length", POST + b"Content-Length: -1\r\n\r\n"),
    BadInput("two lengths", POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n00"),
    BadInput("coding before chunked", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    BadInput("client leaves, request sent", GET + b"\r\n", leaves=True),
    BadInput("client leaves in the body", POST + b"Content-Length: 500000\r\n\r\n{", leaves=True),
)


def main() -> None:
    """Measure every kind of bad input on every server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=50, help="connections of each kind")
    parser.add_argument("--servers", nargs="+", default=["eventlet", "threading", WSGI])
    parser.add_argument("--inputs", nargs="+", help="names of the kinds; all by default")
    arguments = parser.parse_args()
    for server in arguments.servers:
        with api(server) as (port, pid):
            for bad in INPUTS:
                if not arguments.inputs or bad.name in arguments.inputs:
                    found = measure(bad, port, pid, arguments.connections)
                    print(json.dumps({"server": server, **found}), flush=True)


@contextmanager
def api(server: str) -> Iterator[tuple[int, int]]:
    """Yield the port and the process id of an API."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ServiceDeployment(
            Path(folder),
            database_url=f"sqlite:///{folder}/benchmark.sqlite",
            transport_url="fake://",
            concurrency="threading" if server == WSGI else server,
        ) as deployment,
    ):
        deployment.upgrade_database()
        if server == WSGI:
            with waitress(deployment) as pid:
                yield deployment.port, pid
        else:
            daemon = deployment.add_daemon(API)
            daemon.start()
            yield deployment.port, children_of(daemon.pid)[0]


@contextmanager
def waitress(deployment: ServiceDeployment) -> Iterator[int]:
    """Run the WSGI application as docs/operate/connections.rst describes; yield the process id."""
    log = deployment.directory / "waitress.log"
    command = [
        str(Path(sys.executable).with_name("waitress-serve")),
        f"--listen=127.0.0.1:{deployment.port}",
        "--threads=32",
        "--connection-limit=4096",
        "--channel-timeout=60",
        "--asyncore-use-poll",
        "--max-request-header-size=65536",
        "--max-request-body-size=2228224",
        "--no-clear-untrusted-proxy-headers",
        "heat_convergence.cli.wsgi:application",
    ]
    environment = {**os.environ, "OS_HEAT_CONVERGENCE_CONFIG": str(deployment.config)}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        wait_until(lambda: answers(deployment.port), "waitress answers")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Return whether an API answers."""
    try:
        return urllib3.request("GET", f"http://127.0.0.1:{port}{PATH}").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def measure(bad: BadInput, port: int, pid: int, connections: int) -> dict[str, object]:
    """Return what so many connections with the same input are answered, and what they cost."""
    before_mb, ended = memory_mb(pid), threading.Event()
    with ThreadPoolExecutor(connections + 2) as pool:
        watching = pool.submit(watch_memory, pid, ended)
        others = pool.submit(ask_meanwhile, port, ended)
        results = list(pool.map(lambda _number: send(bad, port), range(connections)))
        ended.set()
        highest_mb, times_ms = watching.result(), others.result()
    return {
        "input": bad.name,
        "outcomes": dict(Counter(outcome for outcome, _seconds in results)),
        "last_s": round(max(seconds for _outcome, seconds in results), 1),
        "memory_mb": round(highest_mb - before_mb, 1),
        "others_p50_ms": round(times_ms[len(times_ms) // 2]),
        "others_max_ms": round(times_ms[-1]),
    }


def send(bad: BadInput, port: int) -> tuple[str, float]:
    """Send the input on a connection; return the answer's status or "closed", and the seconds."""
    began = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(GIVE_UP_S)
            connection.sendall(bad.first)
            if bad.leaves:
                return "left", time.monotonic() - began
            if bad.ends:
                connection.shutdown(socket.SHUT_WR)
            outcome = wait_for_answer(bad, connection, began + GIVE_UP_S)
    except OSError:
        outcome = "closed"
    return outcome, time.monotonic() - began


def wait_for_answer(bad: BadInput, connection: socket.socket, give_up_at: float) -> str:
    """Go on sending until the server answers or closes the connection."""
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    while time.monotonic() < give_up_at:
        pause_s = bad.pause_s if bad.repeated else give_up_at - time.monotonic()
        if poller.poll(pause_s * 1000):
            data = connection.recv(65536)
            return data.split()[1].decode() if data.startswith(b"HTTP/") else "closed"
        connection.sendall(bad.repeated)
    return "open"


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


def watch_memory(pid: int, ended: threading.Event) -> float:
    """Return the highest resident memory until the event."""
    highest_mb = memory_mb(pid)
    while not ended.wait(0.05):
        highest_mb = max(highest_mb, memory_mb(pid))
    return max(highest_mb, memory_mb(pid))


def ask_meanwhile(port: int, ended: threading.Event) -> list[float]:
    """Return the sorted response times, in milliseconds, of a well-behaved client."""
    client, times_ms = urllib3.PoolManager(retries=False), []
    while not ended.wait(0.02) or not times_ms:
        began = time.monotonic()
        response = client.request("GET", f"http://127.0.0.1:{port}{PATH}")
        assert response.status == 200, response.data
        times_ms.append((time.monotonic() - began) * 1000)
    return sorted(times_ms)


if __name__ == "__main__":
    main()
