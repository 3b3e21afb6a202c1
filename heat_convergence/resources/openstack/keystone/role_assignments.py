"""Role assignments of users and groups that the template does not manage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.openstack.keystone.subresources import ROLES, role_grant_paths
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


class _RoleAssignment(Association):
    """Role grants of a user or group that exists outside the template."""

    assignee_type: str
    assignee_path: str

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``id`` of the assignee and ``paths`` of the grants."""
        entity = f"keystone.{self.assignee_type}"
        assignee_id = self.argument_builder(context).resolve_id(
            entity, properties[self.assignee_type], self.assignee_type
        )
        paths = role_grant_paths(
            self.id_lookup(context),
            properties.get(ROLES) or (),
            f"{self.assignee_path}/{assignee_id}",
        )
        return {"id": assignee_id, "paths": sorted(paths)}

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the assignee's id."""
        return str(arguments["id"])

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Grant all roles; a repeated grant changes nothing."""
        for path in arguments["paths"]:
            self.client(context).send("PUT", path)

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Revoke all roles; a missing grant is no error."""
        for path in arguments["paths"]:
            _delete_if_exists(self.client(context), path)

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the arguments if all roles are granted."""
        try:
            for path in arguments["paths"]:
                self.client(context).send("HEAD", path)
        except ResourceGone:
            return None
        return arguments


class UserRoleAssignment(_RoleAssignment):
    """Role grants of a user."""

    assignee_type = "user"
    assignee_path = "users"


class GroupRoleAssignment(_RoleAssignment):
    """Role grants of a group."""

    assignee_type = "group"
    assignee_path = "groups"


def _delete_if_exists(client: RestResourceClient, path: str) -> None:
    try:
        client.send("DELETE", path)
    except ResourceGone:
        return
