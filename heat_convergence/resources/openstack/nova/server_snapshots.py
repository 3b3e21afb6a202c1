"""A server's snapshots: images of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.openstack.snapshot_lookup import (
    delete_service_snapshots,
    find_service_snapshot,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
SNAPSHOT_IMAGE_ID = "snapshot_image_id"
_NOT_WHOLE = frozenset({"ERROR", "BUILD", "DELETED", "SOFT_DELETED"})


class SnapshottableServer(DeclarativeType):
    def snapshot(self, view: ResourceContext) -> VerbResult:
        """Under a name by which it is found when its id was lost."""
        images = self.client_for(view, "glance.image")
        found = find_service_snapshot(view, images)
        if found is None and view.action is Action.DELETE and not self._is_whole(view):
            return VerbResult(ObservedState.READY, view.physical_id)
        known = str(found["id"]) if found else self._taken(view, view.resource_snapshot_name)
        return self._saved(view, images, known)

    def _is_whole(self, view: ResourceContext) -> bool:
        """Whether there is anything to be saved before it is deleted."""
        body = self.client(view).get(self._id(view))
        return str(body.get("status")) not in _NOT_WHOLE

    def _taken(self, view: ResourceContext, name: str) -> str:
        calls = self.client(view)
        path = calls.path(str(view.physical_id), "action")
        answer = calls.send("POST", path, {"createImage": {"name": name}})
        location = {key.lower(): value for key, value in answer.headers.items()}["location"]
        return location.rstrip("/").rpartition("/")[2]

    def observe(self, view: ResourceContext) -> VerbResult:
        image_id = view.data.get(SNAPSHOT_IMAGE_ID)
        if view.action is not Action.SNAPSHOT or not image_id:
            return super().observe(view)
        return self._saved(view, self.client_for(view, "glance.image"), image_id)

    def _saved(
        self, view: ResourceContext, images: RestResourceClient, image_id: str
    ) -> VerbResult:
        try:
            status = str(images.get(image_id)["status"])
        except ResourceGone:
            status = "killed"
        observed = {"active": ObservedState.READY, "killed": ObservedState.FAILED}.get(
            status, ObservedState.BUSY
        )
        return VerbResult(
            observed,
            view.physical_id,
            data={**view.data, SNAPSHOT_IMAGE_ID: image_id},
            reason="the image was not saved" if observed is ObservedState.FAILED else "",
            poll_after_s=poll_interval.next_poll_s(view.started_at, view.now),
        )

    def delete_snapshot(self, view: ResourceContext) -> None:
        delete_service_snapshots(view, self.client_for(view, "glance.image"), SNAPSHOT_IMAGE_ID)

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"image": data[SNAPSHOT_IMAGE_ID]} if data.get(SNAPSHOT_IMAGE_ID) else {}
