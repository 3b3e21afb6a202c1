"""Subresources of images: the projects that a shared image is offered to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource

Json = Any


class ImageMembers(SubResource):
    """The projects that a shared image is offered to."""

    property_names = frozenset({"members"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove and add members until the image has the desired ones."""
        path = physical.client.path(physical.path_id, "members")
        current = {item["member_id"] for item in physical.client.send("GET", path).body["members"]}
        desired = set(properties.get("members") or ())
        for member in sorted(current - desired):
            physical.client.send("DELETE", f"{path}/{member}")
        for member in sorted(desired - current):
            physical.client.send("POST", path, {"member": member})


IMAGE_MEMBERS = ImageMembers()
