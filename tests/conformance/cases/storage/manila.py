"""Conformance cases of Manila's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET, SUBNET

LDAP: tuple[str, str, dict[str, Any]] = ("ldap", "OS::Manila::SecurityService", {"type": "ldap"})
KERBEROS = ("kerberos", LDAP[1], {"type": "kerberos"})


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(
        f"OS::Manila::{name}", prerequisites, runs_on=SupportedCloud.EMULATION_ONLY, **fields
    )


CASES = [
    _case(
        "SecurityService",
        properties={"type": "active_directory", "dns_ip": "192.0.2.1", "password": "secret"},
        changes=[
            {"name": "hc-ad", "dns_ip": "192.0.2.2", "server": "s", "domain": "d"},
            {"user": "u", "password": "another", "description": "text"},
        ],
    ),
    _case(
        "ShareNetwork",
        NET,
        SUBNET,
        LDAP,
        KERBEROS,
        properties={"security_services": [{"get": "ldap"}]},
        changes=[
            {"neutron_subnet": {"get": "subnet"}, "security_services": [{"get": "kerberos"}]},
            {"neutron_network": {"get": "net"}, "name": "hc-shares", "description": "d"},
        ],
        attributes={"network_type": "vlan"},
    ),
    _case(
        "ShareType",
        properties={
            "name": "hc-share-type",
            "driver_handles_share_servers": False,
            "extra_specs": {"a": "1", "b": "2"},
        },
        changes=[{"extra_specs": {"b": "3"}}],
        replacement_properties={"name": "hc-share-type-2", "is_public": False},
        can_be_found=False,
        needs_admin=True,
    ),
]
