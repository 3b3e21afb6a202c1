"""What a server's agent is told, so that it finds what is deployed on the server.

Decides who the agent logs in as and where it asks, by ``software_config_transport``; a
server that the compute service makes has one if its user data are of the format
``SOFTWARE_CONFIG``, one that was deployed by others always.  The
user has the server's physical name, and its password is the secret of its one pair of
keys, which Keystone tells again: what a lost call made is found, and what the server was
handed stays true (RULE 4).
Source: heat-facts ``resource_types.json`` (``os_collect_config``), ``config_options.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.clients.stack_users import Ec2Keys, StackUser, StackUsers
from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.signals.signal_responder import (
    EC2_ACCESS_KEY,
    EC2_SECRET_KEY,
    PASSWORD,
    USER_ID,
    SignalUser,
)
from heat_convergence.resources.openstack.nova.user_data import SOFTWARE_CONFIG
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
SOFTWARE_CONFIG_TRANSPORT, USER_DATA_FORMAT = "software_config_transport", "user_data_format"
POLL_SERVER_CFN, POLL_SERVER_HEAT = "POLL_SERVER_CFN", "POLL_SERVER_HEAT"
OS_COLLECT_CONFIG, DEPLOYMENTS = "os-collect-config", "deployments"
SECRET_DATA_KEYS = frozenset({PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY})
_AGENT = "agent"  # among a server's data: where its agent asks


def has_software_agent(properties: Mapping[str, Json]) -> bool:
    return bool(properties.get(USER_DATA_FORMAT) == SOFTWARE_CONFIG)


def may_have_software_agent(properties: Mapping[str, Json]) -> bool:
    """As far as the properties are known."""
    return bool(properties.get(USER_DATA_FORMAT, SOFTWARE_CONFIG) == SOFTWARE_CONFIG)


def validate_transport(properties: Mapping[str, Json]) -> None:
    """Raises for a transport by way of a service that deployments are not put into."""
    transport = properties.get(SOFTWARE_CONFIG_TRANSPORT, POLL_SERVER_CFN)
    if transport not in (POLL_SERVER_CFN, POLL_SERVER_HEAT):
        raise StackValidationFailed(
            f"{transport} is not supported: one of {POLL_SERVER_CFN}, {POLL_SERVER_HEAT} is",
            path=SOFTWARE_CONFIG_TRANSPORT,
        )


def create_agent_user(view: ResourceContext) -> dict[str, Json]:
    """Of a server that has an agent, for the row's data; empty where nobody can be one."""
    users = _users(view)
    if users is None:
        return {}
    url = view.cloud.metadata_url
    if view.properties.get(SOFTWARE_CONFIG_TRANSPORT) != POLL_SERVER_HEAT and (
        url is None or not users.is_configured
    ):
        return {}
    project_id = users.ensure_project(view.cloud.tree_id)
    user, keys = _user(users, view.physical_name, project_id)
    asked = {
        "auth_url": view.cloud.server_auth_url,
        "region_name": view.cloud.region,
        "metadata_url": url,
    }
    return {**SignalUser(project_id, user, keys).to_data(), _AGENT: asked}


def delete_agent_user(view: ResourceContext) -> None:
    """Of a server that is to go; who was hired by a lost call goes, too."""
    users = _users(view)
    if users is None or not users.is_configured:
        return
    user_id = view.data.get(USER_ID)
    if user_id is None and may_have_software_agent(view.properties):
        user_id = users.find_user(view.physical_name)
    if user_id is not None:
        users.delete_user(user_id)


def agent_metadata(
    view: ResourceContext, base_collectors: Sequence[str] = ("ec2",)
) -> dict[str, Json]:
    """The agent's own configuration; empty where there is no agent.  ``clouds`` are its
    collectors from whoever made the machine."""
    asked = view.data.get(_AGENT)
    guest = SignalUser.from_data(view.data, view.project_id)
    if asked is None or guest.user is None or guest.ec2_keys is None:
        return {}
    place = f"{view.stack_name}/{view.stack_id}"
    if view.properties.get(SOFTWARE_CONFIG_TRANSPORT) == POLL_SERVER_HEAT:
        heat = {
            "auth_url": asked["auth_url"],
            "user_id": guest.user.id,
            "password": guest.user.password,
            "project_id": guest.project_id,
            "region_name": asked["region_name"],
            "stack_id": place,
            "resource_name": view.name,
        }
        return {"collectors": [*base_collectors, "heat", "local"], "heat": heat}
    if asked["metadata_url"] is None:
        return {}
    cfn = {
        "metadata_url": asked["metadata_url"],
        "access_key_id": guest.ec2_keys.access,
        "secret_access_key": guest.ec2_keys.secret,
        "stack_name": place,
        "path": f"{view.name}.Metadata",
    }
    return {"collectors": [*base_collectors, "cfn", "local"], "cfn": cfn}


def with_agent_metadata(view: ResourceContext, metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """The metadata, and what the agent is told in them."""
    return merge_agent_metadata(metadata, agent_metadata(view))


def merge_agent_metadata(
    metadata: Mapping[str, Json], config: Mapping[str, Json]
) -> Mapping[str, Json]:
    """The metadata of a server whose agent is told that."""
    return {DEPLOYMENTS: [], **metadata, OS_COLLECT_CONFIG: config} if config else metadata


def metadata_url(view: ResourceContext) -> str | None:
    """Where tools in the guest ask for the metadata, if there is such a service."""
    found: str | None = getattr(view.cloud, "metadata_url", None)
    return found


def _users(view: ResourceContext) -> StackUsers | None:
    found: StackUsers | None = getattr(view.cloud, "users", None)
    return found


def _user(users: StackUsers, name: str, project_id: str) -> tuple[StackUser, Ec2Keys]:
    there = users.find_user(name)
    keys = None if there is None else users.find_ec2_keys(there)
    if there is not None and keys is not None:
        return StackUser(there, project_id, keys.secret), keys
    # The keys come last: where there are keys, all before them was done.
    new = Ec2Keys.generate()
    user = users.ensure_user(name, project_id, new.secret)
    return user, users.create_ec2_keys(user, new)
