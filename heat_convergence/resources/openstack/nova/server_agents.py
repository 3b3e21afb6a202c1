"""Configuration of a server's software agent, by which it finds its deployments.

Decides which user the agent authenticates as and where it polls, by ``software_config_transport``.
A server of Nova has an agent if its user data have the format ``SOFTWARE_CONFIG``; a deployed
server always has one.  The user has the server's physical name, and its password is the secret of
its only EC2 key pair, which Keystone shows again: what a lost call created is found, and the
credentials in the server's user data stay valid (RULE 4).
Source: Heat's attribute ``os_collect_config`` and option ``default_software_config_transport``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.clients.stack_users import Ec2Keys, StackUser, StackUsers
from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.signals.signal_responder import (
    EC2_ACCESS_KEY,
    EC2_SECRET_KEY,
    PASSWORD,
    SignalUser,
    verified_signal_user,
)
from heat_convergence.resources.openstack.nova.user_data import SOFTWARE_CONFIG
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.reference_scope import USER_ID

Json = Any
SOFTWARE_CONFIG_TRANSPORT, USER_DATA_FORMAT = "software_config_transport", "user_data_format"
POLL_SERVER_CFN, POLL_SERVER_HEAT = "POLL_SERVER_CFN", "POLL_SERVER_HEAT"
OS_COLLECT_CONFIG, DEPLOYMENTS = "os-collect-config", "deployments"
SECRET_DATA_KEYS = frozenset({PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY})
_AGENT = "agent"  # the key of the agent's endpoints in the resource data


def has_software_agent(properties: Mapping[str, Json]) -> bool:
    """Return whether a server with these properties has an agent."""
    return bool(properties.get(USER_DATA_FORMAT) == SOFTWARE_CONFIG)


def may_have_software_agent(properties: Mapping[str, Json]) -> bool:
    """Return whether a server may have an agent; unknown properties are left out."""
    return bool(properties.get(USER_DATA_FORMAT, SOFTWARE_CONFIG) == SOFTWARE_CONFIG)


def validate_transport(properties: Mapping[str, Json]) -> None:
    """Check ``software_config_transport``.

    Raises:
        StackValidationFailed: It is one that this service does not support.
    """
    transport = properties.get(SOFTWARE_CONFIG_TRANSPORT, POLL_SERVER_CFN)
    if transport not in (POLL_SERVER_CFN, POLL_SERVER_HEAT):
        raise StackValidationFailed(
            f"{transport} is not supported: one of {POLL_SERVER_CFN}, {POLL_SERVER_HEAT} is",
            path=SOFTWARE_CONFIG_TRANSPORT,
        )


def create_agent_user(context: ResourceContext) -> dict[str, Json]:
    """Create the agent's user; return its credentials and endpoints as resource data.

    Returns:
        An empty mapping if the service has no domain for users or no metadata endpoint.
    """
    users = _users(context)
    if users is None:
        return {}
    url = context.cloud.metadata_url
    if context.properties.get(SOFTWARE_CONFIG_TRANSPORT) != POLL_SERVER_HEAT and (
        url is None or not users.is_configured
    ):
        return {}
    project_id = users.ensure_project(context.cloud.tree_id)
    user, keys = _ensure_user(users, context.physical_name, project_id)
    agent_config = {
        "auth_url": context.cloud.server_auth_url,
        "region_name": context.cloud.region,
        "metadata_url": url,
    }
    return {**SignalUser(project_id, user, keys).to_data(), _AGENT: agent_config}


def with_agent_user(context: ResourceContext) -> ResourceContext:
    """Return the context with the agent's data, if the server has an agent."""
    if not has_software_agent(context.properties):
        return context
    return replace(context, data={**context.data, **create_agent_user(context)})


def delete_agent_user(context: ResourceContext) -> None:
    """Delete the agent's user, also one whose creation was not recorded."""
    users = _users(context)
    if users is None or not users.is_configured:
        return
    agent = verified_signal_user(context).user if USER_ID in context.data else None
    user_id = None if agent is None else agent.id
    if user_id is None and may_have_software_agent(context.properties):
        user_id = users.find_user(context.physical_name)
    if user_id is not None:
        users.delete_user(user_id)


def agent_metadata(
    context: ResourceContext, base_collectors: Sequence[str] = ("ec2",)
) -> dict[str, Json]:
    """Return the agent's configuration; empty if the server has no agent.

    Args:
        context: The server.
        base_collectors: Collectors that the agent has in addition, by the server's origin.
    """
    agent_config = context.data.get(_AGENT)
    agent = SignalUser.from_data(context.data, context.project_id)
    if agent_config is None or agent.user is None:
        return {}
    stack_path = f"{context.stack_name}/{context.stack_id}"
    if context.properties.get(SOFTWARE_CONFIG_TRANSPORT) == POLL_SERVER_HEAT:
        heat = {
            "auth_url": agent_config["auth_url"],
            "user_id": agent.user.id,
            "password": agent.user.password,
            "project_id": agent.project_id,
            "region_name": agent_config["region_name"],
            "stack_id": stack_path,
            "resource_name": context.name,
        }
        return {"collectors": [*base_collectors, "heat", "local"], "heat": heat}
    if agent_config["metadata_url"] is None or agent.ec2_keys is None:
        return {}
    cfn = {
        "metadata_url": agent_config["metadata_url"],
        "access_key_id": agent.ec2_keys.access,
        "secret_access_key": agent.ec2_keys.secret,
        "stack_name": stack_path,
        "path": f"{context.name}.Metadata",
    }
    return {"collectors": [*base_collectors, "cfn", "local"], "cfn": cfn}


def with_agent_metadata(
    context: ResourceContext, metadata: Mapping[str, Json]
) -> Mapping[str, Json]:
    """Return the metadata with the agent's configuration."""
    return merge_agent_metadata(metadata, agent_metadata(context))


def merge_agent_metadata(
    metadata: Mapping[str, Json], config: Mapping[str, Json]
) -> Mapping[str, Json]:
    """Return the metadata with ``config`` as the agent's configuration."""
    return {DEPLOYMENTS: [], **metadata, OS_COLLECT_CONFIG: config} if config else metadata


def metadata_url(context: ResourceContext) -> str | None:
    """Return the URL where tools in the guest read the metadata, if there is one."""
    found: str | None = getattr(context.cloud, "metadata_url", None)
    return found


def _users(context: ResourceContext) -> StackUsers | None:
    found: StackUsers | None = getattr(context.cloud, "users", None)
    return found


def _ensure_user(users: StackUsers, name: str, project_id: str) -> tuple[StackUser, Ec2Keys]:
    user_id = users.find_user(name)
    keys = None if user_id is None else users.find_ec2_keys(user_id)
    if user_id is not None and keys is not None:
        return StackUser(user_id, project_id, keys.secret), keys
    # The keys are created last: a user with keys is complete.
    generated = Ec2Keys.generate()
    user = users.ensure_user(name, project_id, generated.secret)
    return user, users.create_ec2_keys(user, generated)
