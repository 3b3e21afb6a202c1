"""The objects of a project in the cloud, and changes that somebody else makes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from tests.cloud.differential.service_side import Answer, ServiceSide

Json = Any


@dataclass(frozen=True, slots=True)
class CloudCollection:
    """A collection of a service's API, with the fields to compare."""

    service: str
    path: str
    fields: Sequence[str]

    @property
    def key(self) -> str:
        """The key of the list in the response."""
        return self.path.split("/")[-1].split("?")[0].replace("-", "_")


COLLECTIONS = {
    "networks": CloudCollection("network", "/v2.0/networks", (
        "name", "admin_state_up", "shared", "tags", "port_security_enabled", "description")),
    "subnets": CloudCollection("network", "/v2.0/subnets", (
        "name", "cidr", "gateway_ip", "enable_dhcp", "dns_nameservers", "allocation_pools",
        "host_routes", "tags")),
    "ports": CloudCollection("network", "/v2.0/ports", (
        "name", "admin_state_up", "device_owner", "fixed_ips", "tags", "allowed_address_pairs")),
    "routers": CloudCollection("network", "/v2.0/routers", (
        "name", "admin_state_up", "external_gateway_info", "tags")),
    "security_groups": CloudCollection("network", "/v2.0/security-groups", (
        "name", "description", "security_group_rules")),
    "floatingips": CloudCollection("network", "/v2.0/floatingips", ("status", "port_id")),
    "servers": CloudCollection("compute", "/servers", ("name",)),
    "volumes": CloudCollection("volumev3", "/volumes", ("name",)),
}  # fmt: skip
_IN_RULES = ("direction", "ethertype", "protocol", "port_range_min", "port_range_max",
             "remote_ip_prefix")  # fmt: skip


def read_contents(side: ServiceSide, names: Sequence[str]) -> Json:
    """Return the objects of the side's project, sorted."""
    return {name: _read(side, COLLECTIONS[name]) for name in names}


def _read(side: ServiceSide, collection: CloudCollection) -> list[Json]:
    path = collection.path
    if collection.service == "network":
        path += f"?project_id={side.project_id}"
    listed = _adapter(side, collection.service).get(path).json()[collection.key]
    picked = [{name: _stable(item.get(name)) for name in collection.fields} for item in listed
              if item.get("name") != "default"]  # fmt: skip
    return sorted(picked, key=str)


def _stable(value: Json) -> Json:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        kept = [{key: inner for key, inner in each.items()
                 if key in _IN_RULES or "id" not in each} for each in value]  # fmt: skip
        return sorted((each for each in kept if each), key=str)
    return value


def change_cloud(side: ServiceSide, argument: Json) -> Answer:
    """Send a request to another service, as another client of the user."""
    adapter = _adapter(side, argument["service"])
    body = argument.get("body")
    try:
        response = adapter.request(
            argument["path"], argument["method"], **({"json": body} if body else {})
        )
    except exceptions.HttpError as error:
        return Answer(error.http_status, None)
    return Answer(200 if response.ok else response.status_code, None)


def _adapter(side: ServiceSide, service: str) -> Adapter:
    return Adapter(side.session, service_type=service, interface="public")
