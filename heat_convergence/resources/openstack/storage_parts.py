"""Parts of volumes, volume types and QoS specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.row import Made, Part
from heat_convergence.resources.driver.things import MARK_KEY
from heat_convergence.resources.openstack.parts import delete_if_there

Json = Any


class VolumeMetadata(Part):
    """Sent with the create as well; an update replaces it as a whole."""

    names = frozenset({"metadata"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        values = {key: str(value) for key, value in (wanted.get("metadata") or {}).items()}
        body = {"metadata": {**values, MARK_KEY: made.view.resource_id}}
        made.calls.send("PUT", made.calls.path(made.thing_id, "metadata"), body)


class ReadOnly(Part):
    names = frozenset({"read_only"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        flag = {"readonly": bool(wanted.get("read_only"))}
        made.calls.action(made.thing_id, "os-update_readonly_flag", flag)


class ExtraSpecs(Part):
    """Keys of a volume type or flavor; those that are not wanted any more go."""

    def __init__(self, name: str, below: str) -> None:
        self.names = frozenset({name})
        self._name = name
        self._below = below

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        path = made.calls.path(made.thing_id, self._below)
        goal = {key: str(value) for key, value in (wanted.get(self._name) or {}).items()}
        for key in sorted(((before or {}).get(self._name) or {}).keys() - goal.keys()):
            delete_if_there(made, f"{path}/{key}")
        if goal:
            made.calls.send("POST", path, {"extra_specs": goal})


class Access(Part):
    """Which projects may use what is not public."""

    def __init__(self, name: str, listing: str, verbs: tuple[str, str], keys: str) -> None:
        self.names = frozenset({name})
        self._name = name
        self._listing = listing
        self._add, self._remove = verbs
        self._collection, self._key = keys.split("/")

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {
            made.lookups.id_of("keystone.project", value)
            for value in wanted.get(self._name) or ()
        }
        path = made.calls.path(made.thing_id, self._listing)
        there = set()
        if goal or (before is not None and before.get(self._name)):
            listed = made.calls.send("GET", path).body.get(self._collection) or ()
            there = {
                item.get("project_id") or item.get("tenant_id") for item in listed
            }
        for verb, projects in ((self._remove, there - goal), (self._add, goal - there)):
            for project in sorted(projects):
                made.calls.action(made.thing_id, verb, {self._key: project})


class QosKeys(Part):
    names = frozenset({"specs"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {key: str(value) for key, value in (wanted.get("specs") or {}).items()}
        leaving = sorted(((before or {}).get("specs") or {}).keys() - goal.keys())
        if leaving:
            path = made.calls.path(made.thing_id, "delete_keys")
            made.calls.send("PUT", path, {"keys": leaving})
        if goal:
            made.calls.update(made.thing_id, goal)

    def remove(self, made: Made, wanted: Mapping[str, Json]) -> None:
        path = made.calls.path(made.thing_id, "disassociate_all")
        made.calls.send("GET", path)


VOLUME_METADATA = VolumeMetadata()
READ_ONLY = ReadOnly()
EXTRA_SPECS = ExtraSpecs("metadata", "extra_specs")
FLAVOR_SPECS = ExtraSpecs("extra_specs", "os-extra_specs")
PROJECT_ACCESS = Access(
    "projects",
    "os-volume-type-access",
    ("addProjectAccess", "removeProjectAccess"),
    "volume_type_access/project",
)
TENANT_ACCESS = Access(
    "tenants",
    "os-flavor-access",
    ("addTenantAccess", "removeTenantAccess"),
    "flavor_access/tenant",
)
QOS_KEYS = QosKeys()
