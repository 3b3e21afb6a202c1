"""Configuration of a server's software agent, by which it finds its deployments.

Decides which user the agent authenticates as and where it polls, by ``software_config_transport``:
this service, or an object or queue to which ``agent_channels`` publishes the metadata.
A server of Nova has an agent if its user data have the format ``SOFTWARE_CONFIG``; a deployed
server always has one.  The user has the server's physical name, and its password is the secret of
its only EC2 key pair, which Keystone shows again: what a lost call created is found, and the
credentials in the server's user data stay valid (RULE 4).
Source: Heat's attribute ``os_collect_config`` and option ``default_software_config_transport``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.clients.stack_users import Ec2Keys, StackUser, StackUsers
from heat_convergence.resources.builtin.signals.signal_responder import (
    EC2_ACCESS_KEY,
    EC2_SECRET_KEY,
    PASSWORD,
    SIGNED_URL,
    SignalUser,
    verified_signal_user,
)
from heat_convergence.resources.builtin.software import agent_channels
from heat_convergence.resources.builtin.software.agent_channels import (
    CHANNEL_KEYS,
    DEPLOYMENTS,
    OS_COLLECT_CONFIG,
    POLL_TEMP_URL,
    PUBLISHED_METADATA,
    ZAQAR_MESSAGE,
)
from heat_convergence.resources.openstack.nova.user_data import SOFTWARE_CONFIG
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.reference_scope import USER_ID

Json = Any
SOFTWARE_CONFIG_TRANSPORT, USER_DATA_FORMAT = "software_config_transport", "user_data_format"
POLL_SERVER_CFN, POLL_SERVER_HEAT = "POLL_SERVER_CFN", "POLL_SERVER_HEAT"
TRANSPORTS = (POLL_SERVER_CFN, POLL_SERVER_HEAT, POLL_TEMP_URL, ZAQAR_MESSAGE)
SECRET_DATA_KEYS = frozenset(
    {PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY, SIGNED_URL, PUBLISHED_METADATA}
)
_NAMES_KNOWN = "its software agent polls under the names of the stack and the resource"
_EC2 = ("ec2",)
_COLLECTORS = {  # of os-collect-config, by the transport
    POLL_SERVER_CFN: "cfn",
    POLL_SERVER_HEAT: "heat",
    POLL_TEMP_URL: "request",
    ZAQAR_MESSAGE: "zaqar",
}
_AGENT = "agent"  # the key of the agent's endpoints in the resource data


def has_software_agent(properties: Mapping[str, Json]) -> bool:
    """Return whether a server with these properties has an agent."""
    return bool(properties.get(USER_DATA_FORMAT) == SOFTWARE_CONFIG)


def handover_obstacle(context: ResourceContext) -> str:
    """Return why a server cannot get another name or stack; empty for one without an agent."""
    return _NAMES_KNOWN if has_software_agent(context.properties) else ""


def may_have_software_agent(properties: Mapping[str, Json]) -> bool:
    """Return whether a server may have an agent; unknown properties are left out."""
    return bool(properties.get(USER_DATA_FORMAT, SOFTWARE_CONFIG) == SOFTWARE_CONFIG)


def create_agent(
    context: ResourceContext, base_collectors: Sequence[str] = _EC2
) -> dict[str, Json]:
    """Create the agent's user and what it reads; return all of it as resource data.

    Args:
        context: The server.
        base_collectors: Collectors that the agent has in addition, by the server's origin.

    Returns:
        An empty mapping if the service has no domain for users or no metadata endpoint.
    """
    transport = _transport(context)
    if transport == POLL_TEMP_URL:
        data = agent_channels.open_channel(context, transport, None)
        return data | _published(context, data, base_collectors)
    users = _users(context)
    if users is None:
        return {}
    url = context.cloud.metadata_url if transport == POLL_SERVER_CFN else None
    if transport == POLL_SERVER_CFN and (url is None or not users.is_configured):
        return {}
    project_id = users.ensure_project(context.cloud.tree_id)
    user, keys = _ensure_user(users, context.physical_name, project_id)
    agent_config = {
        "auth_url": context.cloud.server_auth_url,
        "region_name": context.cloud.region,
        "metadata_url": url,
    }
    data = {
        **SignalUser(project_id, user, keys).to_data(),
        _AGENT: agent_config,
        **agent_channels.open_channel(context, transport, user),
    }
    return data | _published(context, data, base_collectors)


def update_agent(
    context: ResourceContext,
    after: Mapping[str, Json],
    base_collectors: Sequence[str] = _EC2,
) -> dict[str, Json]:
    """Create what the agent needs with the new properties, and delete what it no longer reads.

    Args:
        context: The server with the properties and the data recorded last.
        after: The new properties.
        base_collectors: Collectors that the agent has in addition, by the server's origin.

    Returns:
        The data to record: those of before for an agent that reads where it did.
    """
    new = replace(context, properties=after)
    if _transport(new) == _transport(context):
        return {**context.data, **_published(context, {}, base_collectors)}
    kept = {key: value for key, value in context.data.items() if key not in CHANNEL_KEYS}
    created = create_agent(replace(new, data=kept), base_collectors)
    agent_channels.close_channel(context, None)
    return {**kept, **created}


def outdated_by_metadata(
    data: Mapping[str, Json], read_metadata: Callable[[], Mapping[str, Json]]
) -> frozenset[str]:
    """Return the property whose update publishes the metadata, if others have been published."""
    outdated = agent_channels.is_outdated(data, read_metadata)
    return frozenset({SOFTWARE_CONFIG_TRANSPORT} if outdated else ())


def with_agent(context: ResourceContext) -> ResourceContext:
    """Return the context with the agent's data, if the server has an agent."""
    if not has_software_agent(context.properties):
        return context
    return replace(context, data={**context.data, **create_agent(context)})


def delete_agent(context: ResourceContext) -> None:
    """Delete what the agent reads and its user, also those whose creation was not recorded."""
    if may_have_software_agent(context.properties):
        agent_channels.close_channel(context, _transport(context))
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
    context: ResourceContext, base_collectors: Sequence[str] = _EC2
) -> dict[str, Json]:
    """Return the agent's configuration; empty if the server has no agent.

    Args:
        context: The server.
        base_collectors: Collectors that the agent has in addition, by the server's origin.
    """
    transport = _transport(context)
    section = _sections(context, transport)
    if not section:
        return {}
    name = _COLLECTORS[transport]
    return {"collectors": [*base_collectors, name, "local"], name: section}


def _sections(context: ResourceContext, transport: str) -> dict[str, Json]:
    """Return the section of the transport's collector, empty without an agent."""
    if transport == POLL_TEMP_URL:
        return agent_channels.agent_section(context.data, transport)
    agent_config = context.data.get(_AGENT)
    agent = SignalUser.from_data(context.data, context.project_id)
    if agent_config is None or agent.user is None:
        return {}
    if transport == POLL_SERVER_CFN:
        if agent_config["metadata_url"] is None or agent.ec2_keys is None:
            return {}
        return {
            "metadata_url": agent_config["metadata_url"],
            "access_key_id": agent.ec2_keys.access,
            "secret_access_key": agent.ec2_keys.secret,
            "stack_name": context.stack_name,
            "path": f"{context.name}.Metadata",
        }
    login = {
        "auth_url": agent_config["auth_url"],
        "user_id": agent.user.id,
        "password": agent.user.password,
        "project_id": agent.project_id,
        "region_name": agent_config["region_name"],
    }
    if transport == ZAQAR_MESSAGE:
        queue = agent_channels.agent_section(context.data, transport)
        return login | queue if queue else {}
    stack_path = f"{context.stack_name}/{context.stack_id}"
    return login | {"stack_id": stack_path, "resource_name": context.name}


def _published(
    context: ResourceContext, data: Mapping[str, Json], base_collectors: Sequence[str]
) -> dict[str, Json]:
    """Publish the metadata where the agent reads them; return the data to record."""
    if _transport(context) not in agent_channels.PUBLISHING_TRANSPORTS:
        return {}
    server = replace(context, data={**context.data, **data})
    config = agent_metadata(server, base_collectors)
    return agent_channels.publish_server(server, merge_agent_metadata(context.metadata, config))


def _transport(context: ResourceContext) -> str:
    return str(context.properties.get(SOFTWARE_CONFIG_TRANSPORT) or POLL_SERVER_CFN)


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
