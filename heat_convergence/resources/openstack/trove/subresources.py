"""Subresources of Trove's instances: databases and users, which a create sends along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import delete_if_exists
from heat_convergence.resources.openstack.trove.instances import DATABASES, USERS, as_user

Json = Any


class InstanceDatabases(SubResource):
    """The databases of an instance."""

    property_names = frozenset({DATABASES})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Delete the databases that are no longer desired and create the missing ones."""
        if before is None:
            return
        path = physical.client.path(physical.path_id, DATABASES)
        current = {str(each["name"]) for each in physical.client.send("GET", path).body[DATABASES]}
        desired = {str(each["name"]): dict(each) for each in properties.get(DATABASES) or ()}
        known = {str(each["name"]) for each in before.get(DATABASES) or ()}
        for name in sorted((current & known) - desired.keys()):
            delete_if_exists(physical, physical.client.path(physical.path_id, DATABASES, name))
        created = [desired[name] for name in sorted(desired.keys() - current)]
        if created:
            physical.client.send("POST", path, {DATABASES: created})


class InstanceUsers(SubResource):
    """The users of an instance, with their passwords and what they may use."""

    property_names = frozenset({USERS})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Delete, create and change users until the instance has the desired ones."""
        if before is None:
            return
        path = physical.client.path(physical.path_id, USERS)
        current = {
            str(each["name"]): each for each in physical.client.send("GET", path).body[USERS]
        }
        desired = {str(each["name"]): as_user(each) for each in properties.get(USERS) or ()}
        known = {str(each["name"]): as_user(each) for each in before.get(USERS) or ()}
        for name in sorted((current.keys() & known.keys()) - desired.keys()):
            delete_if_exists(physical, physical.client.path(physical.path_id, USERS, name))
        created = [desired[name] for name in sorted(desired.keys() - current.keys())]
        if created:
            physical.client.send("POST", path, {USERS: created})
        for name in sorted(desired.keys() & current.keys()):
            if desired[name] != known.get(name):
                _change_user(physical, current[name], desired[name])


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
