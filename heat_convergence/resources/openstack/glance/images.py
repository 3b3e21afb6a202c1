"""``OS::Glance::WebImage``: an image that Glance imports from a URL.

Decides how properties become the image's; extra properties stand beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.glance.subresources import IMAGE_MEMBERS
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
JSON_PATCH_HEADERS = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
EXTRA_PROPERTIES = "extra_properties"


class WebImage(DeclarativeType):
    """An image of the image service."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the extra properties."""
        arguments = super().create_arguments(context)
        return {**arguments, **(context.properties.get(EXTRA_PROPERTIES) or {})}

    def create_subresources(self, physical: PhysicalResource) -> bool:
        """Start the import, unless it was started, and add the members."""
        if physical.body.get("status", "queued") == "queued":
            method = {"name": "web-download", "uri": physical.context.properties["location"]}
            path = physical.client.path(physical.path_id, "import")
            physical.client.send("POST", path, {"method": method})
        return super().create_subresources(physical)

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the status; a failed import is a failure."""
        failed_stores = body.get("os_glance_failed_import")
        if failed_stores:
            return ObservedState.FAILED, f"the import into {failed_stores} has failed"
        return super().observed_state(context, body)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Patch the image, and change its activation and members."""
        client, physical_id = self.client(context), self._id(context)
        if "active" in changed:
            action = "reactivate" if after.get("active", True) else "deactivate"
            client.send("POST", client.path(physical_id, "actions", action))
        patch = self._patch(context, after, changed, client.get(physical_id))
        if patch:
            client.send("PATCH", client.path(physical_id), patch, headers=JSON_PATCH_HEADERS)
        if "members" in changed:
            physical = PhysicalResource(client, physical_id, {}, self.id_lookup(context), context)
            IMAGE_MEMBERS.apply(physical, after, context.properties)
        return self.to_result(replace(context, properties=after), client.get(physical_id))

    def apply_change(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Replace the fields of ``arguments`` by a patch."""
        patch = [
            {"op": "replace", "path": f"/{name}", "value": value}
            for name, value in sorted(arguments.items())
        ]
        client = self.client(context)
        client.send("PATCH", client.path(self._id(context)), patch, headers=JSON_PATCH_HEADERS)
        return client.get(self._id(context))

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the image, after removing its protection."""
        if context.physical_id is not None and context.properties.get("protected"):
            self._unprotect(self.client(context), context.physical_id)
        return super().delete(context)

    @staticmethod
    def _unprotect(client: RestResourceClient, physical_id: str) -> None:
        patch = [{"op": "replace", "path": "/protected", "value": False}]
        try:
            client.send("PATCH", client.path(physical_id), patch, headers=JSON_PATCH_HEADERS)
        except ResourceGone:
            return

    def _patch(
        self,
        context: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[dict[str, Json]]:
        """Return the JSON patch that takes ``body`` to the new properties."""
        names = changed & (self._sendable - {"active", "location", EXTRA_PROPERTIES})
        properties = {name: after.get(name) for name in names}
        if EXTRA_PROPERTIES in changed:
            old = context.properties.get(EXTRA_PROPERTIES) or {}
            properties.update(dict.fromkeys(old))
            properties.update(after.get(EXTRA_PROPERTIES) or {})
        patch = []
        for name, value in sorted(properties.items()):
            exists = name in body
            if value is not None:
                op = "replace" if exists else "add"
                patch.append({"op": op, "path": f"/{name}", "value": value})
            elif exists and name != "tags":
                patch.append({"op": "remove", "path": f"/{name}"})
        return patch
