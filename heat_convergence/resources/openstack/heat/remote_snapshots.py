"""Snapshots of the stack of an ``OS::Heat::Stack``, taken with those of the stack that has it.

Decides which snapshot of the other stack belongs to a snapshot of the resource. Both have the
same name, by which one of a lost call is found (RULE 4).
Source: docs.openstack.org/api-ref/orchestration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
SendRequest = Callable[[str, str, Json], Json]  # method, path and body → body
# Keys of the resource's data: the snapshot, and where its stack was at that time.
SNAPSHOT_ID, SNAPSHOT_PLACE = "snapshot_id", "snapshot_place"
STACK_NAME = "stack_name"


class RemoteSnapshots:
    """The snapshots of one stack."""

    def __init__(self, send: SendRequest, stack_path: str) -> None:
        """Bind to the API and to the path of the stack."""
        self._send = send
        self._path = f"{stack_path}/snapshots"

    def take(self, context: ResourceContext) -> VerbResult:
        """Start a snapshot, unless an earlier attempt has."""
        name = context.resource_snapshot_name
        found = self._find(name) or self._send("POST", self._path, {"name": name})
        return _result(context, found)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the snapshot that was started."""
        path = f"{self._path}/{context.data[SNAPSHOT_ID]}"
        try:
            return _result(context, self._send("GET", path, None)["snapshot"])
        except ResourceGone:
            reason = "the snapshot no longer exists"
            return VerbResult(ObservedState.FAILED, context.physical_id, reason=reason)

    def delete(self, context: ResourceContext) -> None:
        """Delete the snapshot that is recorded, or what an unrecorded attempt has taken."""
        with suppress(ResourceGone):
            snapshot_id = context.data.get(SNAPSHOT_ID)
            if snapshot_id is None:
                snapshot_id = (self._find(context.resource_snapshot_name) or {}).get("id")
            if snapshot_id is not None:
                self._send("DELETE", f"{self._path}/{snapshot_id}", None)

    def _find(self, name: str) -> Mapping[str, Json] | None:
        listed = self._send("GET", self._path, None)["snapshots"]
        return next((each for each in listed if name and each.get("name") == name), None)


def _result(context: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
    status = str(body.get("status") or "IN_PROGRESS")
    observed = {"COMPLETE": ObservedState.READY, "FAILED": ObservedState.FAILED}.get(
        status, ObservedState.BUSY
    )
    return VerbResult(
        observed,
        context.physical_id,
        data={**context.data, SNAPSHOT_ID: str(body["id"])},
        reason=str(body.get("status_reason") or "") if observed is ObservedState.FAILED else "",
        poll_after_s=poll_interval.next_poll_s(context.started_at, context.now),
    )
