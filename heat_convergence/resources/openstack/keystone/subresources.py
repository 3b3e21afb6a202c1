"""Roles, group memberships and what else surrounds users, groups and domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.resources.driver import ownership_marks
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.openstack.neutron.subresources import delete_if_exists
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
ROLES = "roles"


def role_grant_paths(
    lookups: IdLookup, roles: Iterable[Mapping[str, Json]], assignee_path: str
) -> set[str]:
    """The paths of grants; ``who`` is such as ``users/ID``."""
    paths = set()
    for item in roles or ():
        role = lookups.resolve_id("keystone.role", item["role"])
        for name in ("project", "domain"):
            if item.get(name):
                where = lookups.resolve_id(f"keystone.{name}", item[name])
                paths.add(f"/{name}s/{where}/{assignee_path}/roles/{role}")
    return paths


class RoleGrants(SubResource):
    """Grants are sets: what is there already is granted again, harmlessly."""

    property_names = frozenset({ROLES})

    def __init__(self, collection: str) -> None:
        self._collection = collection

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal, there = self._paths(made, wanted), self._paths(made, before or {})
        for path in sorted(there - goal):
            delete_if_exists(made, path)
        for path in sorted(goal if before is None else goal - there):
            made.client.send("PUT", path)

    def _paths(self, made: PhysicalResource, properties: Mapping[str, Json]) -> set[str]:
        who = f"{self._collection}/{made.path_id}"
        return role_grant_paths(made.id_lookup, properties.get(ROLES) or (), who)


class GroupMemberships(SubResource):
    """A user's."""

    property_names = frozenset({"groups"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal, there = self._ids(made, wanted), self._ids(made, before or {})
        for group in sorted(there - goal):
            delete_if_exists(made, f"/groups/{group}/users/{made.path_id}")
        for group in sorted(goal):
            made.client.send("PUT", f"/groups/{group}/users/{made.path_id}")

    @staticmethod
    def _ids(made: PhysicalResource, properties: Mapping[str, Json]) -> set[str]:
        names = properties.get("groups") or ()
        return {made.id_lookup.resolve_id("keystone.group", name) for name in names}


class DisableBeforeDelete(SubResource):
    """The service deletes no domain that is enabled."""

    property_names = frozenset()

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        """Nothing: ``enabled`` is an argument as any."""

    def remove(self, made: PhysicalResource, wanted: Mapping[str, Json]) -> None:
        try:
            made.client.update(made.path_id, {"enabled": False})
        except ResourceGone:
            return


class _RoleAssignment(Association):
    """Roles of someone who is not the template's."""

    assignee_type: str
    assignee_path: str

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        noun = f"keystone.{self.assignee_type}"
        who = self.argument_builder(view).resolve_id(
            noun, properties[self.assignee_type], self.assignee_type
        )
        paths = role_grant_paths(
            self.id_lookup(view), properties.get(ROLES) or (), f"{self.assignee_path}/{who}"
        )
        return {"id": who, "paths": sorted(paths)}

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["id"])

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        for path in parts["paths"]:
            self.client(view).send("PUT", path)

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        for path in parts["paths"]:
            _delete(self.client(view), path)

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        try:
            for path in parts["paths"]:
                self.client(view).send("HEAD", path)
        except ResourceGone:
            return None
        return parts


class UserRoleAssignment(_RoleAssignment):
    assignee_type = "user"
    assignee_path = "users"


class GroupRoleAssignment(_RoleAssignment):
    assignee_type = "group"
    assignee_path = "groups"


class KeystoneRegion(DeclarativeType):
    """Regions: the id is what others are called by."""

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        return {**arguments, "id": arguments.get("id") or view.physical_name}

    def find(self, view: ResourceContext) -> str | None:
        wanted = str(view.properties.get("id") or view.physical_name)
        try:
            body = self.client(view).get(wanted)
        except ResourceGone:
            return None
        return wanted if ownership_marks.has_ownership_mark(view, body) else None


def _delete(calls: RestResourceClient, path: str) -> None:
    try:
        calls.send("DELETE", path)
    except ResourceGone:
        return


USER_ROLE_GRANTS = RoleGrants("users")
GROUP_ROLE_GRANTS = RoleGrants("groups")
GROUP_MEMBERSHIPS = GroupMemberships()
DISABLE_BEFORE_DELETE = DisableBeforeDelete()
