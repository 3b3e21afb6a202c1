"""A minimal REST client that measures when a stack is complete.

It polls rarely enough not to be a load of its own: every 2 % of the elapsed time, and never
more often than every 20 ms, which is also the measurement error. Bodies are encoded quickly, as
that is part of the time that is measured.
"""

from __future__ import annotations

import json
import time
from typing import Any

import urllib3

from heat_convergence.common.strict_json import encode_json

POLL_INTERVAL_S = 0.02
POLL_FRACTION = 0.02
TIMEOUT_S = 4 * 3600


class RequestFailed(RuntimeError):
    """A response that is not a success."""


class StackClient:
    """The stacks of one project.

    Args:
        endpoint: the address of the API, without its version.
        project: the id of the project.
        token: of Keystone, for an API that asks for one.
    """

    def __init__(self, endpoint: str, project: str, token: str = "") -> None:
        self._url = f"{endpoint}/v1/{project}"
        headers = {"X-Auth-Token": token} if token else {}
        self._http = urllib3.PoolManager(maxsize=8, retries=False, headers=headers)

    def create(self, name: str, template: dict[str, Any]) -> str:
        """Create a stack and return its path within the project."""
        body = {"stack_name": name, "template": template, "timeout_mins": TIMEOUT_S // 60}
        response = json.loads(self._request("POST", "/stacks", body))
        return f"/stacks/{name}/{response['stack']['id']}"

    def update(self, path: str, template: dict[str, Any]) -> None:
        """Update a stack."""
        self._request("PUT", path, {"template": template})

    def delete(self, path: str) -> None:
        """Delete a stack."""
        self._request("DELETE", path)

    def wait(self, path: str) -> None:
        """Wait until the stack is COMPLETE or deleted; raises ``RequestFailed`` if it fails."""
        started_at = time.monotonic()
        while True:
            status = self.status(path)
            if status.endswith("_COMPLETE"):
                return
            elapsed_s = time.monotonic() - started_at
            if status.endswith("_FAILED") or elapsed_s > TIMEOUT_S:
                raise RequestFailed(f"{path} is {status} after {elapsed_s:.0f} s")
            time.sleep(max(POLL_INTERVAL_S, POLL_FRACTION * elapsed_s))

    def get(self, path: str) -> urllib3.BaseHTTPResponse:
        """Return the response to a GET of a path within the project."""
        return self._http.request("GET", self._url + path)

    def is_ready(self) -> bool:
        """Return whether the API has found its database, which it looks for after its start."""
        return self.get("/stacks?limit=1").status == 200

    def status(self, path: str) -> str:
        """Return action and status of a stack."""
        response = self.get(f"{path}?resolve_outputs=false")
        if response.status == 404:
            return "DELETE_COMPLETE"
        if response.status != 200:
            raise RequestFailed(f"GET {path}: {response.status} {response.data[:500]!r}")
        stack = json.loads(response.data)["stack"]
        return str(stack["stack_status"])

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        response = self._http.request(
            method,
            self._url + path,
            body=None if body is None else encode_json(body),
            headers={"Content-Type": "application/json", **self._http.headers},
        )
        if response.status >= 300:
            raise RequestFailed(f"{method} {path}: {response.status} {response.data[:500]!r}")
        return bytes(response.data)
