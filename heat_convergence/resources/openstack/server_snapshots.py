"""A server's snapshots: images of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver import pace
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.openstack.copies import copy_of, delete_copies
from heat_convergence.resources.plugin import Look, View

Json = Any
IMAGE = "snapshot_image_id"
_NOT_WHOLE = frozenset({"ERROR", "BUILD", "DELETED", "SOFT_DELETED"})


class ServerSnapshots(DeclaredType):
    def snapshot(self, view: View) -> Look:
        """Under a name by which it is found when its id was lost."""
        images = self.others(view, "glance.image")
        found = copy_of(view, images)
        if found is None and view.action is Action.DELETE and not self._is_whole(view):
            return Look(Observed.READY, view.physical_id)
        known = str(found["id"]) if found else self._taken(view, view.copy_name)
        return self._saved(view, images, known)

    def _is_whole(self, view: View) -> bool:
        """Whether there is anything to be saved before it is deleted."""
        body = self.calls(view).get(self._id(view))
        return str(body.get("status")) not in _NOT_WHOLE

    def _taken(self, view: View, name: str) -> str:
        calls = self.calls(view)
        path = calls.path(str(view.physical_id), "action")
        answer = calls.send("POST", path, {"createImage": {"name": name}})
        location = {key.lower(): value for key, value in answer.headers.items()}["location"]
        return location.rstrip("/").rpartition("/")[2]

    def observe(self, view: View) -> Look:
        image_id = view.data.get(IMAGE)
        if view.action is not Action.SNAPSHOT or not image_id:
            return super().observe(view)
        return self._saved(view, self.others(view, "glance.image"), image_id)

    def _saved(self, view: View, images: Calls, image_id: str) -> Look:
        try:
            status = str(images.get(image_id)["status"])
        except ResourceGone:
            status = "killed"
        observed = {"active": Observed.READY, "killed": Observed.FAILED}.get(
            status, Observed.BUSY
        )
        return Look(
            observed,
            view.physical_id,
            data={**view.data, IMAGE: image_id},
            reason="the image was not saved" if observed is Observed.FAILED else "",
            again_s=pace.again_s(view.started_at, view.now),
        )

    def delete_snapshot(self, view: View) -> None:
        delete_copies(view, self.others(view, "glance.image"), IMAGE)

    def restored(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"image": data[IMAGE]} if data.get(IMAGE) else {}
