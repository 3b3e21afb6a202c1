"""A REST client of a few verbs that sees when a stack is done.

Asks seldom enough not to be a load of its own: after two hundredths of the time
that has passed, and never sooner than every 20 ms, which is also the error.
"""

from __future__ import annotations

import json
import time
from typing import Any

import urllib3

POLL_INTERVAL_S = 0.02
POLL_FRACTION = 0.02
TIMEOUT_S = 900


class RequestFailed(RuntimeError):
    """An answer that is no success."""


class StackClient:
    """The stacks of one project."""

    def __init__(self, endpoint: str, project: str) -> None:
        self._url = f"{endpoint}/v1/{project}"
        self._http = urllib3.PoolManager(maxsize=8, retries=False)

    def create(self, name: str, template: dict[str, Any]) -> str:
        """The stack's path below the project."""
        body = {"stack_name": name, "template": template, "timeout_mins": 60}
        made = json.loads(self._ask("POST", "/stacks", body))
        return f"/stacks/{name}/{made['stack']['id']}"

    def update(self, path: str, template: dict[str, Any]) -> None:
        self._ask("PUT", path, {"template": template})

    def delete(self, path: str) -> None:
        self._ask("DELETE", path)

    def wait(self, path: str) -> None:
        """Until the stack is COMPLETE or gone; raises ``Refused`` when it has failed."""
        begun = time.monotonic()
        while True:
            status = self._status(path)
            if status.endswith("_COMPLETE"):
                return
            passed_s = time.monotonic() - begun
            if status.endswith("_FAILED") or passed_s > TIMEOUT_S:
                raise RequestFailed(f"{path} is {status} after {passed_s:.0f} s")
            time.sleep(max(POLL_INTERVAL_S, POLL_FRACTION * passed_s))

    def _status(self, path: str) -> str:
        answer = self._http.request("GET", f"{self._url}{path}?resolve_outputs=false")
        if answer.status == 404:
            return "DELETE_COMPLETE"
        if answer.status != 200:
            raise RequestFailed(f"GET {path}: {answer.status} {answer.data[:500]!r}")
        stack = json.loads(answer.data)["stack"]
        return str(stack["stack_status"])

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        answer = self._http.request(
            method,
            self._url + path,
            body=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        if answer.status >= 300:
            raise RequestFailed(f"{method} {path}: {answer.status} {answer.data[:500]!r}")
        return bytes(answer.data)
