"""The client of one of the two services, for one user."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from keystoneauth1.session import Session

Json = Any
_REQUEST_TIMEOUT_S = 120
_POLL_S = 0.4
# Heat shows these for a moment before the rollback starts.
_ROLLED_BACK = ("CREATE_FAILED", "UPDATE_FAILED")


@dataclass(frozen=True, slots=True)
class Answer:
    """Code, body (parsed, if it is JSON) and the address of a redirect."""

    code: int
    body: Json
    location: str = ""

    def as_json(self) -> Json:
        """Return the answer as one value to compare."""
        return {"code": self.code, "body": self.body, "location": self.location}


class ServiceSide:
    """The Orchestration API of one service, for one user in one project."""

    def __init__(self, name: str, url: str, session: Session, region: str) -> None:
        self.name = name
        self.session = session
        self.region = region
        self.project_id = str(session.get_project_id())
        self.root = url.rstrip("/")
        self.url = f"{self.root}/{self.project_id}"

    def send(
        self,
        method: str,
        path: str,
        body: Json = None,
        text: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and return the answer; redirects are not followed."""
        sent = {"X-Auth-Token": str(self.session.get_token()), "X-Region-Name": self.region,
                "Accept": "application/json", **(headers or {})}  # fmt: skip
        source = {"json": body} if text is None else {"data": text.encode()}
        if text is not None:
            sent.setdefault("Content-Type", "application/json")
        response = requests.request(
            method, self.url + path, headers=sent, timeout=_REQUEST_TIMEOUT_S,
            allow_redirects=False, **source,
        )  # fmt: skip
        try:
            parsed = response.json() if response.content else None
        except ValueError:
            parsed = response.text
        return Answer(response.status_code, parsed, response.headers.get("Location", ""))

    def catalog_root(self) -> str:
        """Return the endpoint of orchestration in the catalog, which signal URLs begin with."""
        found = self.session.get_endpoint(service_type="orchestration", region_name=self.region)
        return str(found).rstrip("/").removesuffix(f"/{self.project_id}")

    def get(self, path: str) -> Answer:
        """Send a GET."""
        return self.send("GET", path)

    def find_stack(self, name: str) -> str:
        """Return the path ``/stacks/NAME/ID`` of a stack, or ``""`` if there is none."""
        location = self.get(f"/stacks/{name}").location
        return location.removeprefix(self.url).split("?")[0] if location else ""

    def stack_status(self, path: str) -> str:
        """Return the status of a stack, ``DELETE_COMPLETE`` for one that is gone."""
        answer = self.get(f"{path}?resolve_outputs=False")
        return str(answer.body["stack"]["stack_status"]) if answer.code == 200 else (
            "DELETE_COMPLETE")  # fmt: skip

    def is_settled(self, path: str) -> bool:
        """Return whether a stack's action has ended, and no rollback follows it."""
        answer = self.get(f"{path}?resolve_outputs=False")
        if answer.code != 200:
            return True
        stack = answer.body["stack"]
        status = str(stack["stack_status"])
        rolls_back = status in _ROLLED_BACK and not stack["disable_rollback"]
        return not status.endswith("IN_PROGRESS") and not rolls_back

    def wait(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Poll a condition; return whether it held in time."""
        give_up_at = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > give_up_at:
                return False
            time.sleep(_POLL_S)
        return True
