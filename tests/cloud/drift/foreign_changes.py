"""Changes of a stack's resources behind the service's back, and whether they were undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openstack.connection import Connection

Json = Any
PhysicalIds = Mapping[str, str]
"""Physical ids by the names of resources."""


@dataclass(frozen=True, slots=True)
class ForeignChange:
    """A change.

    Attributes:
        title: What is done.
        resource_name: The resource that drifts.
        dependents: Resources that are updated together with it.
        apply: Function that does it.
        is_undone: Function that returns whether the cloud is as the template wants it again.
    """

    title: str
    resource_name: str
    apply: Callable[[Connection, PhysicalIds, str], None]
    is_undone: Callable[[Connection, PhysicalIds, str], bool]
    dependents: frozenset[str] = frozenset()


def _delete_server(cloud: Connection, ids: PhysicalIds, _other_type: str) -> None:
    cloud.compute.delete_server(ids["server"])


def _has_server(cloud: Connection, ids: PhysicalIds, _other_type: str) -> bool:
    found = cloud.compute.find_server(ids["server"])
    return found is not None and found.status == "ACTIVE"


def _rename_port(cloud: Connection, ids: PhysicalIds, _other_type: str) -> None:
    cloud.network.update_port(ids["port"], name="another")


def _has_port_name(cloud: Connection, ids: PhysicalIds, _other_type: str) -> bool:
    return bool(cloud.network.get_port(ids["port"]).name != "another")


def _rules(cloud: Connection, ids: PhysicalIds) -> list[Json]:
    rules = cloud.network.security_group_rules(security_group_id=ids["group"])
    return [each for each in rules if each.port_range_min == 443]


def _remove_rule(cloud: Connection, ids: PhysicalIds, _other_type: str) -> None:
    for rule in _rules(cloud, ids):
        cloud.network.delete_security_group_rule(rule.id)


def _has_rule(cloud: Connection, ids: PhysicalIds, _other_type: str) -> bool:
    return len(_rules(cloud, ids)) == 1


def _retype_volume(cloud: Connection, ids: PhysicalIds, other_type: str) -> None:
    cloud.block_storage.retype_volume(ids["volume"], other_type, migration_policy="on-demand")


def _has_type(cloud: Connection, ids: PhysicalIds, other_type: str) -> bool:
    volume = cloud.block_storage.get_volume(ids["volume"])
    return volume.volume_type != other_type and volume.status == "available"


def _detach_interface(cloud: Connection, ids: PhysicalIds, _other_type: str) -> None:
    cloud.network.remove_interface_from_router(ids["router"], subnet_id=ids["subnet"])


def _has_interface(cloud: Connection, ids: PhysicalIds, _other_type: str) -> bool:
    ports = cloud.network.ports(device_id=ids["router"], network_id=ids["net"])
    return len(list(ports)) == 1


CHANGES = (
    ForeignChange(
        "server deleted", "server", _delete_server, _has_server, frozenset({"server_id"})
    ),
    ForeignChange("port renamed", "port", _rename_port, _has_port_name),
    ForeignChange("security group rule removed", "group", _remove_rule, _has_rule),
    ForeignChange("volume retyped", "volume", _retype_volume, _has_type),
    ForeignChange("router interface detached", "interface", _detach_interface, _has_interface),
)
