"""Subresources of Trove's instances: databases and users, which a create sends along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.subresources import (
    SentAlongSubResource,
    delete_if_exists,
)
from heat_convergence.resources.openstack.trove.instances import DATABASES, USERS, as_user

Json = Any


class _NamedParts(SentAlongSubResource):
    """Parts of an instance that have names, in a list below it."""

    part: ClassVar[str]

    def change(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json],
    ) -> None:
        """Delete, create and change parts until the instance has the desired ones.

        What neither the old nor the new template has stays.
        """
        path = physical.client.path(physical.path_id, self.part)
        listed = physical.client.send("GET", path).body[self.part]
        current = {str(each["name"]): each for each in listed}
        desired, known = self.declared(properties), self.declared(before)
        for name in sorted((current.keys() & known.keys()) - desired.keys()):
            delete_if_exists(physical, physical.client.path(physical.path_id, self.part, name))
        created = [desired[name] for name in sorted(desired.keys() - current.keys())]
        if created:
            physical.client.send("POST", path, {self.part: created})
        for name in sorted(desired.keys() & current.keys()):
            if desired[name] != known.get(name):
                self.change_existing(physical, current[name], desired[name])

    def declared(self, properties: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
        """Return the parts that properties declare, by name."""
        return {str(each["name"]): dict(each) for each in properties.get(self.part) or ()}

    def change_existing(
        self, physical: PhysicalResource, current: Mapping[str, Json], desired: Mapping[str, Json]
    ) -> None:
        """Change a part that exists; by default nothing of it can be changed."""


class InstanceDatabases(_NamedParts):
    """The databases of an instance."""

    property_names = frozenset({DATABASES})
    part = DATABASES


class InstanceUsers(_NamedParts):
    """The users of an instance, with their passwords and what they may use."""

    property_names = frozenset({USERS})
    part = USERS

    def declared(self, properties: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
        """Return the users that properties declare, as Trove takes them, by name."""
        return {str(each["name"]): as_user(each) for each in properties.get(USERS) or ()}

    def change_existing(
        self, physical: PhysicalResource, current: Mapping[str, Json], desired: Mapping[str, Json]
    ) -> None:
        """Change the password and what the user may use."""
        _change_user(physical, current, desired)


def _change_user(
    physical: PhysicalResource, current: Mapping[str, Json], desired: Mapping[str, Json]
) -> None:
    name = str(desired["name"])
    path = physical.client.path(physical.path_id, USERS, name)
    changes = {key: desired[key] for key in ("host", "password") if key in desired}
    physical.client.send("PUT", path, {"user": changes})
    current_names = {str(each["name"]) for each in current.get(DATABASES) or ()}
    desired_names = {str(each["name"]) for each in desired[DATABASES]}
    granted = [{"name": each} for each in sorted(desired_names - current_names)]
    if granted:
        physical.client.send("PUT", f"{path}/{DATABASES}", {DATABASES: granted})
    for each in sorted(current_names - desired_names):
        delete_if_exists(
            physical, physical.client.path(physical.path_id, USERS, name, DATABASES, each)
        )
