"""Subresources of volumes, volume types and QoS specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import ExtraSpecs, ProjectAccess

Json = Any


class VolumeMetadata(SubResource):
    """The metadata of a volume, which also carry the ownership mark."""

    property_names = frozenset({"metadata"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Replace the metadata as a whole, with the ownership mark."""
        values = {key: str(value) for key, value in (properties.get("metadata") or {}).items()}
        body = {"metadata": {**values, OWNER_METADATA_KEY: physical.context.resource_id}}
        physical.client.send("PUT", physical.client.path(physical.path_id, "metadata"), body)


class ReadOnlyFlag(SubResource):
    """The flag that makes a volume read-only."""

    property_names = frozenset({"read_only"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Set the flag."""
        flag = {"readonly": bool(properties.get("read_only"))}
        physical.client.action(physical.path_id, "os-update_readonly_flag", flag)


class QosSpecKeys(SubResource):
    """The keys of QoS specs."""

    property_names = frozenset({"specs"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Delete the keys that are no longer desired and set the others."""
        desired = {key: str(value) for key, value in (properties.get("specs") or {}).items()}
        removed_keys = sorted(((before or {}).get("specs") or {}).keys() - desired.keys())
        if removed_keys:
            path = physical.client.path(physical.path_id, "delete_keys")
            physical.client.send("PUT", path, {"keys": removed_keys})
        if desired:
            physical.client.update(physical.path_id, desired)

    def remove(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> None:
        """Disassociate the specs from all volume types."""
        path = physical.client.path(physical.path_id, "disassociate_all")
        physical.client.send("GET", path)


VOLUME_METADATA = VolumeMetadata()
READ_ONLY_FLAG = ReadOnlyFlag()
VOLUME_TYPE_EXTRA_SPECS = ExtraSpecs("metadata", "extra_specs")
VOLUME_TYPE_ACCESS = ProjectAccess(
    "projects",
    "os-volume-type-access",
    ("addProjectAccess", "removeProjectAccess"),
    "volume_type_access/project",
)
QOS_SPEC_KEYS = QosSpecKeys()
