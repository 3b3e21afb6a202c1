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
from heat_convergence.resources.builtin.signals.responder import (
    ACCESS,
    PASSWORD,
    SECRET,
    USER,
    Guest,
)
from heat_convergence.resources.openstack.userdata import SOFTWARE_CONFIG
from heat_convergence.resources.plugin import View

Json = Any
TRANSPORT, FORMAT = "software_config_transport", "user_data_format"
CFN, HEAT = "POLL_SERVER_CFN", "POLL_SERVER_HEAT"
COLLECT, DEPLOYMENTS = "os-collect-config", "deployments"
SECRETS = frozenset({PASSWORD, ACCESS, SECRET})
_AGENT = "agent"  # among a server's data: where its agent asks


def has_agent(properties: Mapping[str, Json]) -> bool:
    return bool(properties.get(FORMAT) == SOFTWARE_CONFIG)


def may_have_agent(properties: Mapping[str, Json]) -> bool:
    """As far as the properties are known."""
    return bool(properties.get(FORMAT, SOFTWARE_CONFIG) == SOFTWARE_CONFIG)


def check(properties: Mapping[str, Json]) -> None:
    """Raises for a transport by way of a service that deployments are not put into."""
    transport = properties.get(TRANSPORT, CFN)
    if transport not in (CFN, HEAT):
        raise StackValidationFailed(
            f"{transport} is not supported: one of {CFN}, {HEAT} is", path=TRANSPORT
        )


def hired(view: View) -> dict[str, Json]:
    """Of a server that has an agent, for the row's data; empty where nobody can be one."""
    users = _users(view)
    if users is None:
        return {}
    url = view.cloud.metadata_url
    if view.properties.get(TRANSPORT) != HEAT and (url is None or not users.configured):
        return {}
    project_id = users.project(view.cloud.tree_id)
    user, keys = _user(users, view.physical_name, project_id)
    asked = {
        "auth_url": view.cloud.guest_auth_url,
        "region_name": view.cloud.region,
        "metadata_url": url,
    }
    return {**Guest(project_id, user, keys).data(), _AGENT: asked}


def dismiss(view: View) -> None:
    """Of a server that is to go; who was hired by a lost call goes, too."""
    users = _users(view)
    if users is None or not users.configured:
        return
    user_id = view.data.get(USER)
    if user_id is None and may_have_agent(view.properties):
        user_id = users.find_user(view.physical_name)
    if user_id is not None:
        users.delete_user(user_id)


def told(view: View, clouds: Sequence[str] = ("ec2",)) -> dict[str, Json]:
    """The agent's own configuration; empty where there is no agent.  ``clouds`` are its
    collectors from whoever made the machine."""
    asked = view.data.get(_AGENT)
    guest = Guest.of(view.data, view.project_id)
    if asked is None or guest.user is None or guest.keys is None:
        return {}
    place = f"{view.stack_name}/{view.stack_id}"
    if view.properties.get(TRANSPORT) == HEAT:
        heat = {
            "auth_url": asked["auth_url"],
            "user_id": guest.user.id,
            "password": guest.user.password,
            "project_id": guest.project_id,
            "region_name": asked["region_name"],
            "stack_id": place,
            "resource_name": view.name,
        }
        return {"collectors": [*clouds, "heat", "local"], "heat": heat}
    if asked["metadata_url"] is None:
        return {}
    cfn = {
        "metadata_url": asked["metadata_url"],
        "access_key_id": guest.keys.access,
        "secret_access_key": guest.keys.secret,
        "stack_name": place,
        "path": f"{view.name}.Metadata",
    }
    return {"collectors": [*clouds, "cfn", "local"], "cfn": cfn}


def with_config(view: View, metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """The metadata, and what the agent is told in them."""
    return together(metadata, told(view))


def together(
    metadata: Mapping[str, Json], config: Mapping[str, Json]
) -> Mapping[str, Json]:
    """The metadata of a server whose agent is told that."""
    return {DEPLOYMENTS: [], **metadata, COLLECT: config} if config else metadata


def metadata_url(view: View) -> str | None:
    """Where tools in the guest ask for the metadata, if there is such a service."""
    found: str | None = getattr(view.cloud, "metadata_url", None)
    return found


def _users(view: View) -> StackUsers | None:
    found: StackUsers | None = getattr(view.cloud, "users", None)
    return found


def _user(users: StackUsers, name: str, project_id: str) -> tuple[StackUser, Ec2Keys]:
    there = users.find_user(name)
    keys = None if there is None else users.keys_of(there)
    if there is not None and keys is not None:
        return StackUser(there, project_id, keys.secret), keys
    # The keys come last: where there are keys, all before them was done.
    new = Ec2Keys.new()
    user = users.user(name, project_id, new.secret)
    return user, users.ec2_keys(user, new)
