"""Subresources of users, groups and domains: role grants, group memberships, the disabling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import delete_if_exists

Json = Any
ROLES = "roles"


def role_grant_paths(
    lookups: IdLookup, roles: Iterable[Mapping[str, Json]], assignee_path: str
) -> set[str]:
    """Return the paths of role grants in Keystone's API.

    Args:
        lookups: Resolves the names of roles, projects and domains.
        roles: Items with ``role`` and ``project`` or ``domain``.
        assignee_path: The assignee as a path, such as ``users/ID``.
    """
    paths = set()
    for item in roles or ():
        role_id = lookups.resolve_id("keystone.role", item["role"])
        for name in ("project", "domain"):
            if item.get(name):
                scope_id = lookups.resolve_id(f"keystone.{name}", item[name])
                paths.add(f"/{name}s/{scope_id}/{assignee_path}/roles/{role_id}")
    return paths


class RoleGrants(SubResource):
    """The role grants of a user or group that the stack manages.

    Args:
        assignee_collection: ``users`` or ``groups``.
    """

    property_names = frozenset({ROLES})

    def __init__(self, assignee_collection: str) -> None:
        self._assignee_collection = assignee_collection

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Revoke and grant roles; a new resource gets all, as a repeated grant is harmless."""
        desired, current = self._paths(physical, properties), self._paths(physical, before or {})
        for path in sorted(current - desired):
            delete_if_exists(physical, path)
        for path in sorted(desired if before is None else desired - current):
            physical.client.send("PUT", path)

    def _paths(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> set[str]:
        assignee_path = f"{self._assignee_collection}/{physical.path_id}"
        return role_grant_paths(physical.id_lookup, properties.get(ROLES) or (), assignee_path)


class GroupMemberships(SubResource):
    """The groups that a user is a member of."""

    property_names = frozenset({"groups"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove the user from groups and add it to the desired ones."""
        desired, current = (
            self._group_ids(physical, properties),
            self._group_ids(physical, before or {}),
        )
        for group in sorted(current - desired):
            delete_if_exists(physical, f"/groups/{group}/users/{physical.path_id}")
        for group in sorted(desired):
            physical.client.send("PUT", f"/groups/{group}/users/{physical.path_id}")

    @staticmethod
    def _group_ids(physical: PhysicalResource, properties: Mapping[str, Json]) -> set[str]:
        names = properties.get("groups") or ()
        return {physical.id_lookup.resolve_id("keystone.group", name) for name in names}


class DisableBeforeDelete(SubResource):
    """The disabling of a domain before its deletion, which Keystone demands."""

    property_names = frozenset()

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Do nothing: ``enabled`` is an ordinary argument of create and update."""

    def remove(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> None:
        """Disable the domain."""
        try:
            physical.client.update(physical.path_id, {"enabled": False})
        except ResourceGone:
            return


USER_ROLE_GRANTS = RoleGrants("users")
GROUP_ROLE_GRANTS = RoleGrants("groups")
GROUP_MEMBERSHIPS = GroupMemberships()
DISABLE_BEFORE_DELETE = DisableBeforeDelete()
