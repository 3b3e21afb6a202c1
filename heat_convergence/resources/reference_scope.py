"""The resolution of ids that come from outside, inside what their sender may reach (RULE 12).

The tables name every field of requests, documents and templates that refers to an object which the
service stores or acts on, with the rule by which it is resolved; a test fails for a field that is
in none of them. The API, resource types and the engine resolve ids here and nowhere else. What the
sender may not reach is reported as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from heat_convergence.clients.stack_users import StackUser
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads import resources
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow

Json = Any
Connection = Any
USER_ID = "user_id"  # the key of a resource's data with the user that the stack created for it
ACCESS_POLICIES = "access_policies"  # the key of data with the names of policies, of its user
ACCESS_POLICY_TYPE = "OS::Heat::AccessPolicy"
_ALLOWED = "AllowedResources"


class Reach(Enum):
    """The reach of an id: what it may name."""

    PROJECT = "the project of the token; another one only for administrators"
    STACK = (
        "a stack of the sender's project, or of the tree that has created the sender; any stack"
        " for the cloud's administrator"
    )
    IN_STACK = "an object of the stack in the same path"
    CONFIG = "a configuration of the sender's project"
    DEPLOYMENT = "a deployment of the sender's project, or one that its users carry out"
    USER_PROJECT = "the sender's project, or one in which a stack of it has users"
    SERVER = "any text; its deployments are served inside their own project alone"
    SELECTION = "a selection among objects that the sender may see"
    IN_PROJECT = "an object of the project in the path"
    USER_POWER = (
        "used with the credential of the stack's user alone, and dropped for nested stacks"
    )
    TREE_USER = "a user of the tree's own project, or one whose password the document has"
    OWN_GROUP = "the nested stack of a resource of the same stack"
    OWN_HANDLE = "a resource of the same stack"
    NEVER_READ = "written for people; no code reads it"


PATHS: Mapping[str, Reach] = {
    "tenant_id": Reach.PROJECT,
    "stack_id": Reach.STACK,
    "arn": Reach.STACK,
    "snapshot_id": Reach.IN_STACK,
    "event_id": Reach.IN_STACK,
    "config_id": Reach.CONFIG,
    "deployment_id": Reach.DEPLOYMENT,
    "server_id": Reach.SERVER,
    "quarantined_id": Reach.IN_PROJECT,
    "plan_id": Reach.IN_PROJECT,
}
"""Placeholder in the path of a route → what may be reached by it."""

QUERIES: Mapping[str, Mapping[str, Reach]] = {
    "resources": {"id": Reach.SELECTION, "physical_resource_id": Reach.SELECTION},
    "drift": {"marker": Reach.SELECTION},
    "quarantine": {"marker": Reach.SELECTION},
    "events": {"marker": Reach.SELECTION},
    "stack_events": {"marker": Reach.SELECTION},
    "software_configs": {"marker": Reach.SELECTION, "global_tenant": Reach.PROJECT},
    "software_deployments": {"server_id": Reach.SELECTION},
    "stacks": {
        "global_tenant": Reach.PROJECT,
        "marker": Reach.SELECTION,
        "id": Reach.SELECTION,
        "tenant": Reach.SELECTION,
        "username": Reach.SELECTION,
        "owner_id": Reach.SELECTION,
        "stack_owner": Reach.SELECTION,
        "parent": Reach.SELECTION,
        "stack_user_project_id": Reach.SELECTION,
    },
}
"""Schema of a query → its fields, and what may be reached by them."""

BODIES: Mapping[str, Mapping[str, Reach]] = {
    "software_deployment": {
        "config_id": Reach.CONFIG,
        "server_id": Reach.SERVER,
        "stack_user_project_id": Reach.USER_PROJECT,
    },
    "deployment_update": {"config_id": Reach.CONFIG},
    "drift_breakers": {"confirmed": Reach.IN_PROJECT},
}
"""Schema of a body → its fields, and what may be reached by them."""

DOCUMENT: Mapping[str, Reach] = {
    "id": Reach.NEVER_READ,
    "project_id": Reach.NEVER_READ,
    "stack_user_project_id": Reach.NEVER_READ,
    "resources.*.resource_id": Reach.USER_POWER,
    "resources.*.resource_data.user_id": Reach.TREE_USER,
    "resources.*.resource_data.project_id": Reach.TREE_USER,
    "in_flight.*.resource_id": Reach.NEVER_READ,
}
"""Path in an adopted document, or in that of a nested stack → what may be reached by it."""

PROPERTIES: Mapping[str, Reach] = {
    "AWS::AutoScaling::ScalingPolicy.AutoScalingGroupName": Reach.OWN_GROUP,
    "AWS::IAM::AccessKey.UserName": Reach.TREE_USER,
    "AWS::IAM::User.Policies": Reach.IN_STACK,
    "OS::Heat::AccessPolicy.AllowedResources": Reach.IN_STACK,
    "OS::Heat::ScalingPolicy.auto_scaling_group_id": Reach.OWN_GROUP,
    "OS::Heat::MultipartMime.parts": Reach.CONFIG,
    "OS::Heat::SoftwareDeployment.config": Reach.CONFIG,
    "OS::Heat::SoftwareDeployment.server": Reach.SERVER,
    "OS::Heat::StructuredDeployment.config": Reach.CONFIG,
    "OS::Heat::StructuredDeployment.server": Reach.SERVER,
    "OS::Heat::WaitCondition.handle": Reach.OWN_HANDLE,
    "AWS::CloudFormation::WaitCondition.Handle": Reach.OWN_HANDLE,
    "OS::Nova::Server.user_data": Reach.CONFIG,
}
"""Property of a resource type by which the service itself finds what it acts on → its reach.

All other properties go to other services with the credential of the stack's user.
"""

STACK_USER_RULES = frozenset(
    {"stacks:lookup", "resource:metadata", "resource:signal", "software_deployments:metadata"}
)
"""Policy rules of the routes that users of stacks reach, whatever the operator's policies are."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request.

    Attributes:
        project_id: the project that the request is about.
        user_id: the caller.
        stack_user_tree_id: the tree that has created the caller; None for everybody else.
        is_cloud_admin: the caller administers the whole cloud.
    """

    project_id: str
    user_id: str | None = None
    stack_user_tree_id: str | None = None
    is_cloud_admin: bool = False

    @property
    def is_stack_user(self) -> bool:
        """True for a user that a stack has created."""
        return self.stack_user_tree_id is not None


# -- stacks and their resources


def is_visible(sender: Sender, stack: Stack) -> bool:
    """Return whether the stack exists for the sender.

    Users that a tree has created find its stacks in their own project, and the cloud's
    administrator those of all projects.
    """
    if sender.is_stack_user:
        return stack.project_id == sender.project_id or stack.tree_id == sender.stack_user_tree_id
    return sender.is_cloud_admin or stack.project_id == sender.project_id


def require_own_resource(sender: Sender, data: Mapping[str, Json]) -> None:
    """Let a user of a stack reach only the resource that it was created for.

    Args:
        sender: the sender.
        data: of the resource.

    Raises:
        Forbidden: the sender is such a user, of another resource.
    """
    if sender.is_stack_user and data.get(USER_ID) != sender.user_id:
        raise errors.Forbidden("You are not authorized to use this resource.")


def require_readable_metadata(conn: Connection, sender: Sender, row: ResourceRow) -> None:
    """Let a user of a stack read metadata of its own resource, and those that policies allow.

    A user that a template declares reads all resources of its stack, or those that all of its
    policies name.

    Args:
        conn: the transaction's connection.
        sender: the sender.
        row: the resource.

    Raises:
        Forbidden: the sender is a user of a stack, and none of that.
    """
    user_id = sender.user_id
    if not sender.is_stack_user or row.data.get(USER_ID) == user_id:
        return
    owner = resources.get_by_physical_id(conn, row.stack_id, user_id or "")
    data = {} if owner is None else owner.data
    names = data.get(ACCESS_POLICIES)
    if user_id is None or data.get(USER_ID) != user_id or not isinstance(names, list):
        raise errors.Forbidden("You are not authorized to use this resource.")
    policies = {each.name: each for each in resources.list_named(conn, row.stack_id, names)}
    for name in names:
        policy = policies.get(name)
        allowed = () if policy is None else policy.properties.get(_ALLOWED) or ()
        if policy is None or policy.type != ACCESS_POLICY_TYPE or row.name not in allowed:
            raise errors.Forbidden("You are not authorized to use this resource.")


def is_own_group(group: Stack | None, stack: Stack) -> bool:
    """Return whether a scaling group's nested stack belongs to a resource of the stack."""
    return group is not None and group.deleted_at is None and group.owner_id == stack.id


# -- software configurations and deployments


def find_config(conn: Connection, project_id: str, config_id: str) -> SoftwareConfigRow | None:
    """Return a configuration of the project, or None."""
    found = software.get_config(conn, config_id)
    return found if found is not None and found.project_id == project_id else None


def require_config(conn: Connection, project_id: str, config_id: str) -> SoftwareConfigRow:
    """Return a configuration of the project.

    Raises:
        NotFound: the project has none of that id.
    """
    found = find_config(conn, project_id, config_id)
    if found is None:
        raise errors.NotFound(f"Software config with id {config_id} not found")
    return found


def find_deployment(
    conn: Connection, project_id: str, deployment_id: str
) -> SoftwareDeploymentRow | None:
    """Return a deployment of the project, or None."""
    found = software.get_deployment(conn, deployment_id)
    return found if found is not None and found.project_id == project_id else None


def require_deployment(
    conn: Connection, project_id: str, deployment_id: str
) -> SoftwareDeploymentRow:
    """Return a deployment of the project, or one that users in it carry out.

    Raises:
        NotFound: there is none of that id.
    """
    found = software.get_deployment(conn, deployment_id)
    if found is None or project_id not in (found.project_id, found.stack_user_project_id):
        raise errors.NotFound(f"Deployment with id {deployment_id} not found")
    return found


def require_user_project(conn: Connection, project_id: str, user_project_id: str) -> None:
    """Refuse a project whose users would be handed the configuration of a stranger.

    Raises:
        NotFound: neither the project itself, nor one in which a stack of it has users.
    """
    if user_project_id != project_id and not software.is_stack_user_project(
        conn, project_id, user_project_id
    ):
        raise errors.NotFound(f"Stack user project with id {user_project_id} not found")


def list_server_configs(
    conn: Connection, sender: Sender, server_id: str
) -> list[SoftwareConfigRow]:
    """Return the configurations deployed to a server, for its agent.

    Raises:
        Forbidden: the sender is the agent of another server.
    """
    found = software.list_server_configs(conn, sender.project_id, server_id)
    if found and sender.stack_user_tree_id is not None:
        owners = resources.list_data_by_physical_id(conn, sender.stack_user_tree_id, server_id)
        if not any(data.get(USER_ID) == sender.user_id for data in owners):
            raise errors.Forbidden("You are not authorized to use this server.")
    return found


def list_server_data(
    conn: Connection, project_id: str, server_id: str
) -> list[Mapping[str, Json]]:
    """Return the data of the project's resources that a deployment on a server may concern."""
    found = resources.list_by_physical_id(conn, project_id, server_id)
    return [row.data for row in found]


_BODY_RESOLVERS: Mapping[Reach, Callable[[Connection, str, str], object]] = {
    Reach.CONFIG: require_config,
    Reach.USER_PROJECT: require_user_project,
    Reach.SERVER: lambda _conn, _project_id, _server_id: None,
}


def require_references(
    conn: Connection, project_id: str, schema: str, values: Mapping[str, Json]
) -> None:
    """Resolve every id of a body.

    Args:
        conn: the transaction's connection.
        project_id: the sender's.
        schema: a name in ``BODIES``.
        values: the parsed body.

    Raises:
        NotFound: one of them is not in the sender's reach.
    """
    for name, rule in BODIES[schema].items():
        if values.get(name) is not None:
            _BODY_RESOLVERS[rule](conn, project_id, values[name])


# -- documents


def adopted_physical_id(physical_id: str | None, *, is_nested: bool) -> str | None:
    """Return the id that a resource is adopted with.

    A nested stack is adopted by its own document: an id could be that of another's stack.
    """
    return None if is_nested else physical_id


def owns_stack_user(cloud: Any, user: StackUser) -> bool:
    """Return whether a tree may act on a user with the domain administrator's power.

    Args:
        cloud: the tree's.
        user: as the data of a resource name it, which may come from a document.
    """
    return bool(cloud.users.owns(cloud.tree_id, user))
