"""Subresources that several services share: tags, extra specs and project access.

Called by the driver after a create, at an update and before a delete.  Each one compares the
desired values with the current ones, so that a repetition after a crash changes nothing (RULE 4).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource

Json = Any


def delete_if_exists(physical: PhysicalResource, path: str) -> None:
    """Delete what is at ``path``; a resource that is already missing is no error."""
    try:
        physical.client.send("DELETE", path)
    except ResourceGone:
        return


class SentAlongSubResource(SubResource):
    """A part that the create of the resource sends along, so that only updates need calls."""

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Change the part of an existing resource."""
        if before is not None:
            self.change(physical, properties, before)

    @abstractmethod
    def change(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json],
    ) -> None:
        """Bring the part of an existing resource to the properties."""


class Tags(SubResource):
    """The tags of a Neutron or Nova resource, replaced as a whole."""

    property_names = frozenset({"tags"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Replace the list of tags."""
        tags = [str(tag) for tag in properties.get("tags") or ()]
        physical.client.send("PUT", physical.client.path(physical.path_id, "tags"), {"tags": tags})


class ExtraSpecs(SubResource):
    """Extra specs of a volume type or flavor.

    Args:
        property_name: The map property that holds the specs.
        path_segment: Where the service keeps them, below the resource's path.
    """

    def __init__(self, property_name: str, path_segment: str) -> None:
        self.property_names = frozenset({property_name})
        self._property_name = property_name
        self._path_segment = path_segment

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Delete the keys that are no longer desired and set the others."""
        path = physical.client.path(physical.path_id, self._path_segment)
        desired = {
            key: str(value) for key, value in (properties.get(self._property_name) or {}).items()
        }
        for key in sorted(((before or {}).get(self._property_name) or {}).keys() - desired.keys()):
            delete_if_exists(physical, f"{path}/{key}")
        if desired:
            physical.client.send("POST", path, {"extra_specs": desired})


class ProjectAccess(SubResource):
    """Access of projects to a volume type or flavor that is not public.

    Args:
        property_name: The list property that names the projects.
        path_segment: Where the service lists the access, below the resource's path.
        actions: Names of the actions that add and remove a project.
        body_keys: ``LIST_KEY/PROJECT_KEY``, keys of the listing and of the actions.
    """

    def __init__(
        self, property_name: str, path_segment: str, actions: tuple[str, str], body_keys: str
    ) -> None:
        self.property_names = frozenset({property_name})
        self._property_name = property_name
        self._path_segment = path_segment
        self._add_action, self._remove_action = actions
        self._list_key, self._project_key = body_keys.split("/")

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove the projects that are no longer desired and add the missing ones."""
        desired = {
            physical.id_lookup.resolve_id("keystone.project", value)
            for value in properties.get(self._property_name) or ()
        }
        path = physical.client.path(physical.path_id, self._path_segment)
        current = set()
        if desired or (before is not None and before.get(self._property_name)):
            listed = physical.client.send("GET", path).body.get(self._list_key) or ()
            current = {item.get("project_id") or item.get("tenant_id") for item in listed}
        for action, projects in (
            (self._remove_action, current - desired),
            (self._add_action, desired - current),
        ):
            for project in sorted(projects):
                physical.client.action(physical.path_id, action, {self._project_key: project})


TAGS = Tags()
