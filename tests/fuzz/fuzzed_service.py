"""The service that fuzzed requests are sent to, and the record of what went wrong.

Each block of requests has a project of its own with fresh objects, so that a block is
replayed by its seed alone, and the database does not grow.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.maintenance.purge import (
    find_project_stacks,
    purge_contents,
    purge_plans,
    purge_software,
    purge_stacks,
)
from heat_convergence.db.tables import quarantine
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.template.limits import TemplateLimits
from tests.functional.harness import LocalService
from tests.fuzz.process_usage import processor_seconds
from tests.fuzz.sample_requests import TEMPLATE
from tests.quarantined_resource import add_quarantined

Json = Any
_STEPS_AFTER_REQUEST = 60  # messages and polls; the rest waits for the next request
_LONGEST_JUMP_S = 3600.0  # a template may ask for a wait beyond the year 9999
_OPTIONS = ApiOptions(enable_stack_adopt=True, enable_stack_abandon=True, access_log=False)
_PURGED_STACKS = 10_000
_PURGED_PLANS = 10_000
_LATEST = datetime.max.replace(tzinfo=UTC)
_CONTENTS_EVERY = 50  # blocks


@dataclass(frozen=True, slots=True)
class FuzzedRequest:
    """One request in the form in which a socket would bring it."""

    method: str
    path: str  # decoded, as WSGI has it
    query: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request; ``error`` has what the service raised instead of one."""

    status: int
    body: bytes
    error: BaseException | None = None


class BoundedService(LocalService):
    """A service whose daemons do a bounded number of steps after each request.

    A stack that waits for an hour would otherwise be polled to its end. The caches of
    templates are small, so that a leak shows.
    """

    cache_bytes = 2**18

    def run_until_idle(self) -> None:
        """Handle messages and polls, up to a number of them."""
        for _ in range(_STEPS_AFTER_REQUEST):
            if self.handle_next():
                continue
            due_s = self._due_s()
            if due_s is None:
                return
            self.clock.advance(min(due_s, _LONGEST_JUMP_S))
            self.observer.tick()


class FuzzedService:
    """A service, the objects of the present block and the requests to them.

    Attributes:
        existing: Ids of objects that exist, by the name of the routes' variable part.
        seconds: Wall-clock time of the last request.
        processor_seconds: Processor time of the last request, with expressions.
    """

    def __init__(self, folder: Path, service: Any = None) -> None:
        self._sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
        limits = TemplateLimits(yaql_runner=self._sandbox)
        self.service = service or BoundedService(
            f"sqlite:///{folder}/fuzz.sqlite", _OPTIONS, limits=limits
        )
        self.existing: dict[str, str] = {}
        self.project = ""
        self.seconds = self.processor_seconds = 0.0

    def begin_block(self, number: int) -> None:
        """Make the objects of a block in a new project."""
        self.project = f"p{number}"
        stack_id = self._make("/stacks", {"stack_name": "s", "template": TEMPLATE}, "stack")
        self.existing = {"stack_name": "s", "stack_id": stack_id}
        self.existing["config_id"] = self._make(
            "/software_configs", {"name": "c"}, "software_config"
        )
        deployment = {"config_id": self.existing["config_id"], "server_id": "server"}
        self.existing["deployment_id"] = self._make(
            "/software_deployments", deployment, "software_deployment"
        )
        snapshot = self.service.send(
            "POST", f"/stacks/s/{stack_id}/snapshots", {}, project=self.project
        )
        self.existing["snapshot_id"] = snapshot.json["id"]
        events = self.service.send(
            "GET", f"/stacks/s/{stack_id}/resources/r/events", project=self.project
        )
        self.existing["event_id"] = events.json["events"][0]["id"]
        plan = {"action": "patch", "parameters": {"p": "y"}}
        self.existing["plan_id"] = self._make(f"/stacks/s/{stack_id}/plans", plan, "plan")
        self._quarantine(f"quarantined-{number}")

    def _quarantine(self, resource_id: str) -> None:
        """Put a resource of the block's project into quarantine."""
        with self.service.database.write() as connection:
            add_quarantined(connection, self.service.clock(), resource_id, project_id=self.project)
        self.existing["quarantined_id"] = resource_id

    def end_block(self, number: int) -> None:
        """Delete everything that the block has made."""
        database = self.service.database
        self.service.bus.pending.clear()
        purge_stacks(database, find_project_stacks(database, self.project, _PURGED_STACKS))
        purge_software(database, self.project)
        purge_plans(database, _LATEST, _PURGED_PLANS)
        with database.write() as connection:
            connection.execute(quarantine.delete())
        if number % _CONTENTS_EVERY == 0:
            purge_contents(database)

    def send(self, request: FuzzedRequest) -> Answer:
        """Send a request, let the daemons work on it and measure both."""
        started_s, processor_s = time.perf_counter(), processor_seconds()
        answer = self._send(request)
        self.seconds = time.perf_counter() - started_s
        self.processor_seconds = processor_seconds() - processor_s
        return answer

    def _send(self, request: FuzzedRequest) -> Answer:
        statuses: list[str] = []

        def start(line: str, _headers: Json, _error: Json = None) -> None:
            statuses.append(line)

        try:
            body = b"".join(self.service.app(_environ(request), start))
        except Exception as error:  # noqa: BLE001  # each is a finding
            return Answer(0, b"", error)
        return Answer(int(statuses[-1].split()[0]), body)

    def _make(self, path: str, body: Json, noun: str) -> str:
        made = self.service.send("POST", path, body, project=self.project)
        return str(made.json[noun]["id"])

    def close(self) -> None:
        """End the service and its child."""
        self.service.close()
        self._sandbox.close()


def _environ(request: FuzzedRequest) -> dict[str, Any]:
    """Return the WSGI environment of a request."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method, "SCRIPT_NAME": "", "PATH_INFO": request.path,
        "QUERY_STRING": request.query, "SERVER_NAME": "localhost", "SERVER_PORT": "8004",
        "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost:8004",
        "REMOTE_ADDR": "127.0.0.1", "wsgi.version": (1, 0), "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body), "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False,
    }  # fmt: skip
    if request.body:
        environ["CONTENT_LENGTH"] = str(len(request.body))
    return environ | request.headers
