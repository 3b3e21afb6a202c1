"""The measurement of drift: seconds until a foreign change is seen and repaired, and by what."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from keystoneauth1.session import Session
from openstack.connection import Connection

from tests.cloud.drift.foreign_changes import CHANGES, ForeignChange
from tests.cloud.testbed import DeployedService

Json = Any
TIMEOUT_S = 240.0
POLL_S = 0.2
DRIFTED = {"MODIFIED", "DELETED", "ERROR"}


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """One change, as the service has dealt with it.

    Attributes:
        shown_s: Seconds from the change until the API has shown the drift.
        repaired_s: Seconds from then until the stack was complete and the cloud as it should be.
        source: What the drift was seen by.
        outcome: The outcome of the repair.
        is_undone: Whether the cloud is as the template wants it.
        touched: Resources with new events.
    """

    change: ForeignChange
    shown_s: float
    repaired_s: float
    source: str
    outcome: str
    is_undone: bool
    touched: frozenset[str]

    @property
    def touched_others(self) -> frozenset[str]:
        """Resources with new events that neither drifted nor depend on what drifted."""
        return self.touched - {self.change.resource_name} - self.change.dependents


class ChangedStack:
    """A complete stack in which one resource after another is changed.

    Args:
        service: The service under test.
        auth: A session of the user.
        cloud: A connection of the user to the other services.
        name: The name of the stack.
        other_type: The volume type that no template names.
    """

    def __init__(
        self,
        service: DeployedService,
        auth: Session,
        cloud: Connection,
        name: str,
        other_type: str,
    ) -> None:
        self._service, self._auth, self._cloud = service, auth, cloud
        self._other_type = other_type
        self._stack_name = name
        stack_id = self._get(f"/stacks/{name}")["stack"]["id"]
        self._path = f"/stacks/{name}/{stack_id}"

    def wait_until_in_sync(self) -> None:
        """Wait until every resource that can be read was read and is as it was applied."""
        _wait(self._is_in_sync, lambda: f"every resource was read: {self._unread()}")

    def _is_in_sync(self) -> bool:
        counts = self._get(f"{self._path}/drift")["drift"]["resource_counts"]
        readable = len(self._ids()) - 1  # all but the value
        return bool(counts["IN_SYNC"] == readable)

    def _unread(self) -> list[Json]:
        statuses = "status=NOT_CHECKED&status=UNKNOWN&status=MODIFIED&status=ERROR"
        found = self._get(f"{self._path}/drift?{statuses}")["drift"]
        return [found["resource_counts"], *found["resources"]]

    def measure(self, change: ForeignChange) -> MeasuredChange:
        """Make a change and wait until it is repaired."""
        known = {each["id"] for each in self._events()}
        repair_before = self._repair_of(change).get("started_at")
        change.apply(self._cloud, self._ids(), self._other_type)
        changed_at = time.monotonic()
        source: list[str] = []

        def is_shown() -> bool:
            for entry in self._get(f"{self._path}/drift")["drift"]["resources"]:
                if self._is_drift(entry, change):
                    source.append(entry["observation_source"])
            return bool(source) or self._repair_of(change).get("started_at") != repair_before

        shown_s = _wait(is_shown, lambda: f"{change.title} is seen") - changed_at

        def is_repaired() -> bool:
            if self._repair_of(change).get("started_at") == repair_before:
                return False
            is_complete = self._status().endswith("_COMPLETE")
            return is_complete and change.is_undone(self._cloud, self._ids(), self._other_type)

        def is_recorded() -> bool:
            return bool(self._repair_of(change)["repair_outcome"])

        repaired_s = (
            _wait(is_repaired, lambda: f"{change.title} is repaired") - changed_at - shown_s
        )
        _wait(is_recorded, lambda: f"the end of the repair is recorded: {change.title}")
        new = [each for each in self._events() if each["id"] not in known]
        names = {each["resource_name"] for each in new} - {self._stack_name}
        return MeasuredChange(
            change,
            shown_s,
            repaired_s,
            source[0] if source else "not shown before the repair",
            str(self._repair_of(change)["repair_outcome"]),
            change.is_undone(self._cloud, self._ids(), self._other_type),
            frozenset(names),
        )

    @staticmethod
    def _is_drift(entry: Json, change: ForeignChange) -> bool:
        return (entry["resource_name"], entry["drift_status"] in DRIFTED) == (
            change.resource_name,
            True,
        )

    def _status(self) -> str:
        return str(self._get(self._path)["stack"]["stack_status"])

    def _repair_of(self, change: ForeignChange) -> Json:
        for each in self._get(f"{self._path}/drift/repairs")["repairs"]:
            if each["resource_name"] == change.resource_name:
                return each
        return {}

    def _ids(self) -> dict[str, str]:
        found = self._get(f"{self._path}/resources")["resources"]
        return {each["resource_name"]: each["physical_resource_id"] for each in found}

    def _events(self) -> list[Json]:
        return list(self._get(f"{self._path}/events")["events"])

    def _get(self, path: str) -> Json:
        response = self._service.request(self._auth, "GET", path)
        assert response.status_code == 200, response.text
        return response.json()


def _wait(condition: Callable[[], bool], describe: Callable[[], str]) -> float:
    """Wait for a condition and return the time at which it was met."""
    give_up_at = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < give_up_at, f"after {TIMEOUT_S} s still not: {describe()}"
        time.sleep(POLL_S)
    return time.monotonic()


def format_table(measured: Sequence[MeasuredChange]) -> str:
    """Return a table with a row for each change."""
    lines = [f"{'change':30} {'n':>3} {'seen':>6} {'(max)':>7} {'repaired':>9} {'(max)':>7}  by"]
    for change in CHANGES:
        found = [each for each in measured if each.change is change]
        if not found:
            continue
        delays_s = [each.shown_s for each in found]
        repaired = [each.repaired_s for each in found]
        sources = ", ".join(sorted({each.source for each in found}))
        lines.append(
            f"{change.title:30} {len(found):3} {median(delays_s):6.1f} {max(delays_s):7.1f}"
            f" {median(repaired):9.1f} {max(repaired):7.1f}  {sources}"
        )
    return "\n".join(lines)
