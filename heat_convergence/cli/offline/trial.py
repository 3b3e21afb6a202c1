"""A trial: a template created, updated, repaired and deleted in the emulated cloud.

Called by ``heat-convergence try``. Speaks to the service through its REST API, as clients do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.cli.offline.trial_cloud import TrialCloud, TrialService

Json = Any
STACK_NAME = "try"
_WATCH_PASSES = 8
_WATCH_INTERVAL_S = 15.0
_CHANGES = ("added", "updated", "replaced", "deleted", "unchanged")


@dataclass(frozen=True, slots=True)
class TriedResource:
    """One resource at the end of a step.

    Attributes:
        waits_for: The resources that had to be ready first.
        started_s: Seconds of the cloud's time from the beginning of the step; None if nothing
            was done with it.
        seconds: How long it took, retries included.
        tries: How often its action began.
    """

    name: str
    type: str
    status: str
    reason: str
    waits_for: tuple[str, ...] = ()
    started_s: float | None = None
    seconds: float = 0.0
    tries: int = 0


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One step of the trial.

    Attributes:
        status: The stack's status, or the error of a refused request.
        failed: Whether the stack did not come to what the step wants.
        changes: Names of resources by what happens to them, as the preview announced.
        requests: Number of requests to the cloud.
    """

    action: str
    status: str
    reason: str
    failed: bool
    seconds: float = 0.0
    resources: tuple[TriedResource, ...] = ()
    outputs: Mapping[str, Json] = field(default_factory=dict)
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drift: tuple[str, ...] = ()
    requests: int = 0


class Trial:
    """The steps of one trial, each a generator of what it shows."""

    def __init__(self, service: TrialService, cloud: TrialCloud) -> None:
        self._service = service
        self._cloud = cloud
        self._path = ""

    def run(
        self, body: Json, update: Json | None = None, lost: Sequence[str] = ()
    ) -> Iterator[TrialStep]:
        """Yield each step as it ends; a step that fails is the last but the deletion.

        Args:
            body: The request's template, files and environment.
            update: The same of a second template.
            lost: Resources that disappear from the cloud before the end.
        """
        created = self._create(body)
        yield created
        if not self._path:
            return
        failed = created.failed
        if update is not None and not failed:
            updated = self._update(update)
            yield updated
            failed = updated.failed
        if lost and not failed:
            yield from self._lose_and_repair(lost)
        yield self._act("DELETE", "DELETE", "")

    def _create(self, body: Json) -> TrialStep:
        answer = self._service.send(
            "POST", "/stacks", {"stack_name": STACK_NAME, **body}, leave_pending=True
        )
        if answer.status_int != 201:
            return _refused("CREATE", answer)
        self._path = f"/stacks/{STACK_NAME}/{answer.json['stack']['id']}"
        return self._finish("CREATE")

    def _update(self, body: Json) -> TrialStep:
        preview = self._service.send("PUT", f"{self._path}/preview", body)
        changes: Mapping[str, Sequence[str]] = {}
        if preview.status_int == 200:
            announced = preview.json["resource_changes"]
            changes = {
                change: tuple(each["resource_name"] for each in announced.get(change, ()))
                for change in _CHANGES
            }
        return self._act("UPDATE", "PUT", "", body, changes=changes)

    def _lose_and_repair(self, names: Sequence[str]) -> Iterator[TrialStep]:
        for name in names:
            answer = self._service.send("GET", f"{self._path}/resources/{name}")
            if answer.status_int != 200:
                yield _refused("LOSE", answer)
                return
            lost = answer.json["resource"]
            self._cloud.lose(lost["resource_type"], lost["physical_resource_id"])
        for _ in range(_WATCH_PASSES):
            self._service.clock.advance(_WATCH_INTERVAL_S)
            self._service.watch.tick()
        drift = self._service.send("GET", f"{self._path}/drift").json["drift"]["resources"]
        found = tuple(f"{each['resource_name']}: {each['drift_status']}" for each in drift)
        yield self._act("REPAIR", "POST", "/actions", {"repair": None}, drift=found)

    def _act(
        self, action: str, method: str, suffix: str, body: Json = None, **shown: Any
    ) -> TrialStep:
        answer = self._service.send(method, f"{self._path}{suffix}", body, leave_pending=True)
        if answer.status_int >= 400:
            return _refused(action, answer)
        return self._finish(action, **shown)

    def _finish(self, action: str, **shown: Any) -> TrialStep:
        """Run the service until the action has ended, and return what it did."""
        known = {each["id"] for each in self._events(leave_pending=True)}
        started, requests = self._service.clock(), self._count_requests()
        self._service.run_until_idle()
        stack = self._service.send("GET", self._path).json["stack"]
        events = [each for each in self._events() if each["id"] not in known]
        return TrialStep(
            action=action,
            status=stack["stack_status"],
            reason=stack["stack_status_reason"],
            failed=not stack["stack_status"].endswith("_COMPLETE"),
            seconds=(self._service.clock() - started).total_seconds(),
            resources=tuple(self._resources(events, started)),
            outputs={each["output_key"]: _value_of(each) for each in stack.get("outputs", ())},
            requests=self._count_requests() - requests,
            **shown,
        )

    def _resources(self, events: Sequence[Json], started: datetime) -> Iterator[TriedResource]:
        answer = self._service.send("GET", f"{self._path}/resources")
        rows = answer.json["resources"] if answer.status_int == 200 else []
        by_name: dict[str, list[Json]] = {}
        for event in events:
            by_name.setdefault(event["resource_name"], []).append(event)
        requires = _requires(rows)
        for row in sorted(rows, key=lambda each: str(each["resource_name"])):
            own = by_name.get(row["resource_name"], [])
            times = sorted(_time_of(each) for each in own)
            started_status = f"{row['resource_status'].rpartition('_')[0]}_IN_PROGRESS"
            yield TriedResource(
                row["resource_name"],
                row["resource_type"],
                row["resource_status"],
                row["resource_status_reason"],
                tuple(sorted(requires.get(row["resource_name"], ()))),
                max(0.0, (times[0] - started).total_seconds()) if times else None,
                (times[-1] - times[0]).total_seconds() if times else 0.0,
                sum(each["resource_status"] == started_status for each in own),
            )

    def _events(self, *, leave_pending: bool = False) -> list[Json]:
        answer = self._service.send("GET", f"{self._path}/events", leave_pending=leave_pending)
        return list(answer.json["events"]) if answer.status_int == 200 else []

    def _count_requests(self) -> int:
        return sum(self._cloud.emulation.request_counts.values())


def _requires(rows: Sequence[Json]) -> dict[str, set[str]]:
    """Return the names that each resource waits for, from those that wait for it."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for name in row["required_by"]:
            found.setdefault(name, set()).add(row["resource_name"])
    return found


def _time_of(event: Json) -> datetime:
    return datetime.fromisoformat(event["event_time"].replace("Z", "+00:00"))


def _value_of(output: Json) -> Json:
    return output.get("output_error") or output.get("output_value")


def _refused(action: str, answer: Any) -> TrialStep:
    error = answer.json["error"]
    return TrialStep(action, str(error["type"]), str(error["message"]), failed=True)
