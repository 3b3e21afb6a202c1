"""Conformance cases of routers, security groups, floating IPs and routes."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import (
    AGENT_IDS,
    FLOATING_IP,
    NET,
    PORT,
    ROUTER,
    ROUTER_INTERFACE,
    ROUTER_WITH_GATEWAY,
    SECOND_FLOATING_IP,
    SECOND_PORT,
    SECURITY_GROUP,
    SUBNET,
)


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Neutron::{name}", prerequisites, needs_admin=admin, **fields)


CASES = [
    _case(
        "Router",
        properties={},
        updates=[
            {"name": "hc-router", "external_gateway_info": {"network": "public"}},
            {
                "external_gateway_info": {"network": "public"},
                "tags": ["r"],
                "admin_state_up": False,
            },
            {"admin_state_up": True, "value_specs": {"description": "told by hand"}},
        ],
        attributes={"external_gateway_info": None},
    ),
    _case(
        "Router",
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"l3_agent_ids": AGENT_IDS},
        changes=[
            {"l3_agent_ids": []},
            {"l3_agent_ids": AGENT_IDS},
            {"availability_zone_hints": ["nova"]},
        ],
        case_label="Router on agents",
    ),
    _case(
        "Router",
        admin=True,
        changes=[{"external_gateway_info": {"network": "public", "enable_snat": False}}],
        case_label="Router of an administrator",
    ),
    _case(
        "RouterInterface",
        NET,
        SUBNET,
        ROUTER,
        properties={"router": {"get": "router"}, "subnet": {"get": "subnet"}},
        replacement_properties=None,
    ),
    _case(
        "RouterInterface",
        NET,
        SUBNET,
        ROUTER,
        PORT,
        properties={"router_id": {"get": "router"}, "port_id": {"get": "port"}},
        replacement_properties=None,
        case_label="RouterInterface by port",
    ),
    _case(
        "SecurityGroup",
        properties={
            "rules": [
                {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22},
                {"protocol": "icmp", "remote_mode": "remote_group_id"},
            ]
        },
        updates=[
            {"rules": [{"protocol": "tcp", "port_range_min": 80, "port_range_max": 81}]},
            {
                "name": "hc-group",
                "description": "said",
                "rules": [
                    {"direction": "egress", "protocol": "udp", "remote_ip_prefix": "10.0.0.0/8"}
                ],
            },
            {"rules": [], "stateful": False},
        ],
    ),
    _case(
        "SecurityGroupRule",
        SECURITY_GROUP,
        properties={
            "security_group": {"get": "group"},
            "protocol": "tcp",
            "port_range_min": 80,
            "port_range_max": 80,
        },
        replacement_properties={"port_range_min": 79},
    ),
    _case(
        "FloatingIP",
        NET,
        SUBNET,
        ROUTER_WITH_GATEWAY,
        ROUTER_INTERFACE,
        (
            "port",
            "OS::Neutron::Port",
            {
                "network": {"get": "net"},
                "fixed_ips": [{"ip_address": "10.90.0.60"}, {"ip_address": "10.90.0.61"}],
            },
        ),
        properties={"floating_network": "public"},
        updates=[
            {
                "floating_network": "public",
                "port_id": {"get": "port"},
                "fixed_ip_address": "10.90.0.60",
            },
            {
                "floating_network": "public",
                "port_id": {"get": "port"},
                "fixed_ip_address": "10.90.0.61",
            },
            {"floating_network": "public"},
        ],
    ),
    _case(
        "FloatingIP",
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"floating_network": "public", "dns_name": "a", "dns_domain": "b.org."},
        changes=[{"dns_name": "c", "dns_domain": "d.org."}],
        case_label="FloatingIP with names",
    ),
    _case(
        "FloatingIPAssociation",
        NET,
        SUBNET,
        ROUTER_WITH_GATEWAY,
        ROUTER_INTERFACE,
        PORT,
        SECOND_PORT,
        FLOATING_IP,
        SECOND_FLOATING_IP,
        properties={"floatingip_id": {"get": "ip"}, "port_id": {"get": "port"}},
        changes=[
            {"fixed_ip_address": "10.90.0.77"},
            {"port_id": {"get": "other"}, "fixed_ip_address": None},
            {"floatingip_id": {"get": "second"}},
        ],
        replacement_properties={"floatingip_id": {"get": "ip"}, "port_id": {"get": "port"}},
    ),
    _case(
        "FloatingIPPortForward",
        NET,
        SUBNET,
        ROUTER_WITH_GATEWAY,
        ROUTER_INTERFACE,
        PORT,
        SECOND_PORT,
        FLOATING_IP,
        properties={
            "floating_ip": {"get": "ip"},
            "internal_port": {"get": "port"},
            "internal_ip_address": "10.90.0.77",
            "internal_port_number": 22,
            "external_port": 2222,
            "protocol": "tcp",
        },
        changes=[
            {"internal_port_number": 23, "external_port": 2223},
            {"internal_port": {"get": "other"}, "internal_ip_address": "10.90.0.78"},
            {"protocol": "udp"},
        ],
        replacement_properties={"external_port": 2224, "internal_port_number": 24},
    ),
    _case(
        "ExtraRouteSet",
        NET,
        SUBNET,
        ROUTER,
        ROUTER_INTERFACE,
        properties={
            "router": {"get": "router"},
            "routes": [{"destination": "10.55.0.0/24", "nexthop": "10.90.0.5"}],
        },
        changes=[{"routes": [{"destination": "10.56.0.0/24", "nexthop": "10.90.0.5"}]}],
        replacement_properties={
            "routes": [{"destination": "10.57.0.0/24", "nexthop": "10.90.0.5"}]
        },
    ),
    _case(
        "ExtraRoute",
        NET,
        SUBNET,
        ROUTER,
        ROUTER_INTERFACE,
        properties={
            "router_id": {"get": "router"},
            "destination": "10.58.0.0/24",
            "nexthop": "10.90.0.5",
        },
        replacement_properties={"destination": "10.59.0.0/24"},
    ),
    _case(
        "RouterGateway",
        NET,
        SUBNET,
        ROUTER,
        ROUTER_INTERFACE,
        properties={"router_id": {"get": "router"}, "network_id": "public"},
        replacement_properties=None,
    ),
]
