"""Ordinary requests of another project beside fuzzed ones, in a process of its own.

    python -m tests.fuzz.other_tenant PORT

Sends requests until its standard input is closed, one of each kind at least, and prints the
milliseconds of each as JSON.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import select
import subprocess
import sys
import time
from typing import Any

_PAUSE_S = 0.1
_TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"r": {"type": "OS::Heat::RandomString"}},
    "outputs": {
        "o": {
            "value": {"yaql": {"expression": "$.data.len()", "data": {"get_attr": ["r", "value"]}}}
        }
    },
}


def main() -> None:
    """Send requests to the API at the port until standard input is closed."""
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    name = f"ordinary-{os.getpid()}"
    created = _send(connection, "POST", "/stacks", {"stack_name": name, "template": _TEMPLATE})
    body = {"stack_name": "another", "template": _TEMPLATE}
    path = f"/stacks/{name}/{json.loads(created)['stack']['id']}"
    requests = [("GET", "/stacks", None), ("GET", path, None), ("POST", "/stacks/preview", body)]
    milliseconds: list[float] = []
    for request in itertools.cycle(requests):
        ended = select.select([sys.stdin], [], [], _PAUSE_S)[0]
        if ended and len(milliseconds) >= len(requests):
            break
        started_s = time.perf_counter()
        _send(connection, *request)
        milliseconds.append((time.perf_counter() - started_s) * 1000)
    print(json.dumps(milliseconds))


def _send(connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> bytes:
    content = None if body is None else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    connection.request(method, f"/v1/other-tenant{path}", content, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status >= 400:
        raise SystemExit(f"{method} {path}: {response.status} {answer[:300]!r}")
    return answer


class OtherTenant:
    """The process, and the times of its requests when it has ended."""

    def __init__(self, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.other_tenant", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def stop(self) -> list[float]:
        """Return the milliseconds of each request, in ascending order."""
        printed, _errors = self._process.communicate()
        if self._process.returncode:
            raise AssertionError("a request of the other tenant was refused")
        return sorted(json.loads(printed))


def describe(milliseconds: list[float]) -> str:
    """Return the number of requests and their percentiles."""
    at = {share: milliseconds[int(len(milliseconds) * share / 100)] for share in (50, 95, 99)}
    shares = ", ".join(f"p{share} {value:.0f} ms" for share, value in at.items())
    return f"{len(milliseconds)} requests, {shares}, longest {milliseconds[-1]:.0f} ms"


if __name__ == "__main__":
    main()
