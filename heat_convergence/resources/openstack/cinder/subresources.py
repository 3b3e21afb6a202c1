"""Parts of volumes, volume types and QoS specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.neutron.subresources import delete_if_exists

Json = Any


class VolumeMetadata(SubResource):
    """Sent with the create as well; an update replaces it as a whole."""

    property_names = frozenset({"metadata"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        values = {key: str(value) for key, value in (wanted.get("metadata") or {}).items()}
        body = {"metadata": {**values, OWNER_METADATA_KEY: made.context.resource_id}}
        made.client.send("PUT", made.client.path(made.path_id, "metadata"), body)


class ReadOnlyFlag(SubResource):
    property_names = frozenset({"read_only"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        flag = {"readonly": bool(wanted.get("read_only"))}
        made.client.action(made.path_id, "os-update_readonly_flag", flag)


class ExtraSpecs(SubResource):
    """Keys of a volume type or flavor; those that are not wanted any more go."""

    def __init__(self, name: str, below: str) -> None:
        self.property_names = frozenset({name})
        self._name = name
        self._below = below

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        path = made.client.path(made.path_id, self._below)
        goal = {key: str(value) for key, value in (wanted.get(self._name) or {}).items()}
        for key in sorted(((before or {}).get(self._name) or {}).keys() - goal.keys()):
            delete_if_exists(made, f"{path}/{key}")
        if goal:
            made.client.send("POST", path, {"extra_specs": goal})


class ProjectAccess(SubResource):
    """Which projects may use what is not public."""

    def __init__(self, name: str, listing: str, verbs: tuple[str, str], keys: str) -> None:
        self.property_names = frozenset({name})
        self._name = name
        self._listing = listing
        self._add, self._remove = verbs
        self._collection, self._key = keys.split("/")

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {
            made.id_lookup.resolve_id("keystone.project", value)
            for value in wanted.get(self._name) or ()
        }
        path = made.client.path(made.path_id, self._listing)
        there = set()
        if goal or (before is not None and before.get(self._name)):
            listed = made.client.send("GET", path).body.get(self._collection) or ()
            there = {item.get("project_id") or item.get("tenant_id") for item in listed}
        for verb, projects in ((self._remove, there - goal), (self._add, goal - there)):
            for project in sorted(projects):
                made.client.action(made.path_id, verb, {self._key: project})


class QosSpecKeys(SubResource):
    property_names = frozenset({"specs"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {key: str(value) for key, value in (wanted.get("specs") or {}).items()}
        leaving = sorted(((before or {}).get("specs") or {}).keys() - goal.keys())
        if leaving:
            path = made.client.path(made.path_id, "delete_keys")
            made.client.send("PUT", path, {"keys": leaving})
        if goal:
            made.client.update(made.path_id, goal)

    def remove(self, made: PhysicalResource, wanted: Mapping[str, Json]) -> None:
        path = made.client.path(made.path_id, "disassociate_all")
        made.client.send("GET", path)


VOLUME_METADATA = VolumeMetadata()
READ_ONLY_FLAG = ReadOnlyFlag()
VOLUME_TYPE_EXTRA_SPECS = ExtraSpecs("metadata", "extra_specs")
FLAVOR_EXTRA_SPECS = ExtraSpecs("extra_specs", "os-extra_specs")
VOLUME_TYPE_ACCESS = ProjectAccess(
    "projects",
    "os-volume-type-access",
    ("addProjectAccess", "removeProjectAccess"),
    "volume_type_access/project",
)
FLAVOR_ACCESS = ProjectAccess(
    "tenants",
    "os-flavor-access",
    ("addTenantAccess", "removeTenantAccess"),
    "flavor_access/tenant",
)
QOS_SPEC_KEYS = QosSpecKeys()
