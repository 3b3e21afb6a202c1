"""``OS::Glance::WebImage``: an image that the service fetches by itself.

Decides how properties become an image's own; extra properties lie beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
JSON_PATCH_HEADERS = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
EXTRA_PROPERTIES = "extra_properties"


class ImageMembers(SubResource):
    """Projects that a shared image is offered to."""

    property_names = frozenset({"members"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        path = made.client.path(made.path_id, "members")
        there = {item["member_id"] for item in made.client.send("GET", path).body["members"]}
        goal = set(wanted.get("members") or ())
        for member in sorted(there - goal):
            made.client.send("DELETE", f"{path}/{member}")
        for member in sorted(goal - there):
            made.client.send("POST", path, {"member": member})


IMAGE_MEMBERS = ImageMembers()


class WebImage(DeclarativeType):
    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        return {**arguments, **(view.properties.get(EXTRA_PROPERTIES) or {})}

    def create_subresources(self, made: PhysicalResource) -> bool:
        if made.body.get("status", "queued") == "queued":
            how = {"name": "web-download", "uri": made.context.properties["location"]}
            path = made.client.path(made.path_id, "import")
            made.client.send("POST", path, {"method": how})
        return super().create_subresources(made)

    def observed_state(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        failed = body.get("os_glance_failed_import")
        if failed:
            return ObservedState.FAILED, f"the import into {failed} has failed"
        return super().observed_state(view, body)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        calls, thing_id = self.client(view), self._id(view)
        if "active" in changed:
            verb = "reactivate" if after.get("active", True) else "deactivate"
            calls.send("POST", calls.path(thing_id, "actions", verb))
        patch = self._patch(view, after, changed, calls.get(thing_id))
        if patch:
            calls.send("PATCH", calls.path(thing_id), patch, headers=JSON_PATCH_HEADERS)
        if "members" in changed:
            made = PhysicalResource(calls, thing_id, {}, self.id_lookup(view), view)
            IMAGE_MEMBERS.apply(made, after, view.properties)
        return self.to_result(replace(view, properties=after), calls.get(thing_id))

    def apply_change(
        self, view: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        patch = [
            {"op": "replace", "path": f"/{name}", "value": value}
            for name, value in sorted(arguments.items())
        ]
        calls = self.client(view)
        calls.send("PATCH", calls.path(self._id(view)), patch, headers=JSON_PATCH_HEADERS)
        return calls.get(self._id(view))

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is not None and view.properties.get("protected"):
            self._unprotect(self.client(view), view.physical_id)
        return super().delete(view)

    @staticmethod
    def _unprotect(calls: RestResourceClient, thing_id: str) -> None:
        patch = [{"op": "replace", "path": "/protected", "value": False}]
        try:
            calls.send("PATCH", calls.path(thing_id), patch, headers=JSON_PATCH_HEADERS)
        except ResourceGone:
            return

    def _patch(
        self,
        view: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[dict[str, Json]]:
        names = changed & (self._sendable - {"active", "location", EXTRA_PROPERTIES})
        wanted = {name: after.get(name) for name in names}
        if EXTRA_PROPERTIES in changed:
            old = view.properties.get(EXTRA_PROPERTIES) or {}
            wanted.update(dict.fromkeys(old))
            wanted.update(after.get(EXTRA_PROPERTIES) or {})
        patch = []
        for name, value in sorted(wanted.items()):
            there = name in body
            if value is not None:
                op = "replace" if there else "add"
                patch.append({"op": op, "path": f"/{name}", "value": value})
            elif there and name != "tags":
                patch.append({"op": "remove", "path": f"/{name}"})
        return patch
