"""Heat's data of resources in the form in which the resource types of this service keep them.

Called by ``resource_builder``. One table says which key becomes which; what no table names is
not imported. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.builtin.signals.signal_log import (
    CFN_FORMAT,
    NATIVE_FORMAT,
    SIGNALS,
)
from heat_convergence.resources.builtin.signals.signal_responder import (
    EC2_ACCESS_KEY,
    EC2_SECRET_KEY,
    PASSWORD,
    PROJECT_ID,
    SIGNED_URL,
    SignalResponder,
)
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    CfnWaitConditionHandle,
    SignalHandle,
)
from heat_convergence.resources.nested.nested_type import COOLDOWN_END_KEY, ScalableGroupType
from heat_convergence.resources.openstack.mistral.workflows import EXECUTIONS
from heat_convergence.resources.openstack.nova.server_networks import MANAGED_PORTS
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.reference_scope import USER_ID

Json = Any
_AGENT = "os-collect-config"

_RENAMED: Mapping[str, str] = {
    "user_id": USER_ID,
    "password": PASSWORD,
    "access_key": EC2_ACCESS_KEY,
    "secret_key": EC2_SECRET_KEY,  # pragma: allowlist secret
    "ec2_signed_url": SIGNED_URL,
    "value": "value",
    "backup_id": "backup_id",
    "snapshot_image_id": "snapshot_image_id",
    "private_key": "private_key",  # pragma: allowlist secret
    "execution_id": "execution_id",
}
"""Heat's key → this service's, for values that stay as they are."""


def _port_ids(text: str) -> list[str]:
    return [str(port["id"]) for port in json.loads(text)]


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


_CONVERTED: Mapping[str, tuple[str, Callable[[str], Json]]] = {
    "internal_ports": (MANAGED_PORTS, _port_ids),
    "executions": (EXECUTIONS, _names),
}
"""Heat's key → this service's key and the conversion of the value."""


@dataclass(frozen=True, slots=True)
class HeatRecord:
    """The record that Heat has of one resource, decrypted.

    Attributes:
        data: key → value of the resource's data.
        metadata: as guests read it.
        user_project_id: the project of the tree's own users.
    """

    data: Mapping[str, str]
    metadata: Mapping[str, Json]
    user_project_id: str | None


def convert_data(resource_type: ResourceType | None, record: HeatRecord) -> dict[str, Json]:
    """Return the data of a resource."""
    found: dict[str, Json] = {
        new: record.data[old] for old, new in _RENAMED.items() if old in record.data
    }
    for old, (new, convert) in _CONVERTED.items():
        if record.data.get(old):
            found[new] = convert(record.data[old])
    if USER_ID in found or isinstance(resource_type, SignalResponder):
        found[PROJECT_ID] = record.user_project_id
    if isinstance(resource_type, SignalHandle):
        found[SIGNALS] = _signals(resource_type, record.metadata)
    if isinstance(resource_type, ScalableGroupType):
        found |= _cooldown(record.metadata)
    if isinstance(resource_type, ResourceGroup) and record.data.get("name_blacklist"):
        found["removed"] = _names(record.data["name_blacklist"])
    agent = record.metadata.get(_AGENT)
    if isinstance(agent, Mapping) and USER_ID in found:
        found["agent"] = _agent_endpoints(agent)
    return found


def _signals(handle: SignalHandle, metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the signals of a handle, which Heat keeps as its metadata."""
    keys = CFN_FORMAT if isinstance(handle, CfnWaitConditionHandle) else NATIVE_FORMAT
    return {
        str(key): {
            "status": signal.get(keys.status_key),
            "reason": signal.get(keys.reason_key),
            "data": signal.get(keys.data_key),
        }
        for key, signal in metadata.items()
        if isinstance(signal, Mapping) and keys.status_key in signal
    }


def _cooldown(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the end of a group's cooldown; one of a scaling that never ended is left out."""
    ends = metadata.get(COOLDOWN_END_KEY)
    if not isinstance(ends, Mapping) or not ends:
        return {}
    return {
        COOLDOWN_END_KEY: {
            datetime.fromisoformat(until).replace(tzinfo=UTC).isoformat(): why
            for until, why in ends.items()
        }
    }


def _agent_endpoints(agent: Mapping[str, Json]) -> dict[str, Json]:
    """Return where a server's agent polls, by its own metadata."""
    heat, cfn = agent.get("heat") or {}, agent.get("cfn") or {}
    return {
        "auth_url": heat.get("auth_url"),
        "region_name": heat.get("region_name"),
        "metadata_url": cfn.get("metadata_url"),
    }
