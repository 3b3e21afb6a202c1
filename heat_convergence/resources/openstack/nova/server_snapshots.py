"""Snapshots of a server, which are images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.openstack.snapshot_lookup import (
    delete_service_snapshots,
    find_service_snapshot,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
SNAPSHOT_IMAGE_ID = "snapshot_image_id"
_NO_CONTENT = frozenset({"ERROR", "BUILD", "DELETED", "SOFT_DELETED"})


class SnapshottableServer(DeclarativeType):
    """A server that can be saved as an image and restored from it."""

    def snapshot(self, context: ResourceContext) -> VerbResult:
        """Create an image, unless an earlier attempt has created it.

        Before a delete, a server without usable content is skipped.
        """
        images = self.client_for(context, "glance.image")
        found = find_service_snapshot(context, images)
        if found is None and context.action is Action.DELETE and not self._has_content(context):
            return VerbResult(ObservedState.READY, context.physical_id)
        image_id = (
            str(found["id"])
            if found
            else self._create_image(context, context.resource_snapshot_name)
        )
        return self._image_result(context, images, image_id)

    def _has_content(self, context: ResourceContext) -> bool:
        """Return whether the server holds anything worth saving."""
        body = self.client(context).get(self._id(context))
        return str(body.get("status")) not in _NO_CONTENT

    def _create_image(self, context: ResourceContext, name: str) -> str:
        client = self.client(context)
        path = client.path(str(context.physical_id), "action")
        response = client.send("POST", path, {"createImage": {"name": name}})
        location = {key.lower(): value for key, value in response.headers.items()}["location"]
        return location.rstrip("/").rpartition("/")[2]

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the image during a snapshot, otherwise the server."""
        image_id = context.data.get(SNAPSHOT_IMAGE_ID)
        if context.action is not Action.SNAPSHOT or not image_id:
            return super().observe(context)
        return self._image_result(context, self.client_for(context, "glance.image"), image_id)

    def _image_result(
        self, context: ResourceContext, images: RestResourceClient, image_id: str
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
            context.physical_id,
            data={**context.data, SNAPSHOT_IMAGE_ID: image_id},
            reason="the image was not saved" if observed is ObservedState.FAILED else "",
            poll_after_s=poll_interval.next_poll_s(context.started_at, context.now),
        )

    def delete_snapshot(self, context: ResourceContext) -> None:
        """Delete the image."""
        delete_service_snapshots(
            context, self.client_for(context, "glance.image"), SNAPSHOT_IMAGE_ID
        )

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the image as the server's new ``image``."""
        return {"image": data[SNAPSHOT_IMAGE_ID]} if data.get(SNAPSHOT_IMAGE_ID) else {}
