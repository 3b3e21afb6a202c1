"""Conformance cases of Manila's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase
from tests.conformance.cases.networking.networks import NET, SUBNET

LDAP: tuple[str, str, dict[str, Any]] = ("ldap", "OS::Manila::SecurityService", {"type": "ldap"})
KERBEROS = ("kerberos", LDAP[1], {"type": "kerberos"})


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Manila::{name}", prerequisites, **fields)


RULE = {"access_type": "ip", "access_to": "192.0.2.0/24"}

CASES = [
    _case(
        "Share",
        NET,
        SUBNET,
        ("network", "OS::Manila::ShareNetwork", {"neutron_subnet": {"get": "subnet"}}),
        properties={
            "share_protocol": "NFS",
            "size": 1,
            "share_network": {"get": "network"},
            "metadata": {"a": 1},
            "access_rules": [RULE],
            "description": "d",
        },
        changes=[
            {"metadata": {"b": "2"}, "access_rules": [{**RULE, "access_level": "ro"}]},
            {"name": "hc-share", "description": "e", "is_public": True, "access_rules": []},
        ],
        attributes={"status": "available"},
        emulation_attributes={"host": "share-1"},
        replacement_properties={"size": 2},
        needs_admin=True,  # for a public share
    ),
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
        emulation_attributes={"network_type": "vlan"},
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
