"""Conformance cases of Octavia's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET, SUBNET

LOAD_BALANCER = ("lb", "OS::Octavia::LoadBalancer", {"vip_subnet": {"get": "subnet"}})
LISTENER: tuple[str, str, dict[str, Any]] = (
    "listener",
    "OS::Octavia::Listener",
    {"loadbalancer": {"get": "lb"}, "protocol": "HTTP", "protocol_port": 80},
)
POOL: tuple[str, str, dict[str, Any]] = (
    "pool",
    "OS::Octavia::Pool",
    {"listener": {"get": "listener"}, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"},
)
POOL_PREREQUISITES = (NET, SUBNET, LOAD_BALANCER, LISTENER, POOL)
L7_POLICY = (
    "policy",
    "OS::Octavia::L7Policy",
    {"action": "REJECT", "listener": {"get": "listener"}},
)
PROVIDER = {"provider_name": "amphora"}
NAME_AND_DESCRIPTION = {"name": "hc-named", "description": "told"}


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Octavia::{name}", prerequisites, **fields)


CASES = [
    _case(
        "LoadBalancer",
        NET,
        SUBNET,
        properties={"vip_subnet": {"get": "subnet"}},
        changes=[NAME_AND_DESCRIPTION, {"admin_state_up": False}],
    ),
    _case(
        "Listener",
        NET,
        SUBNET,
        LOAD_BALANCER,
        (
            "pool",
            "OS::Octavia::Pool",
            {"loadbalancer": {"get": "lb"}, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"},
        ),
        properties=LISTENER[2],
        changes=[
            {"connection_limit": 5, "admin_state_up": False, **NAME_AND_DESCRIPTION},
            {
                "default_pool": {"get": "pool"},
                "allowed_cidrs": ["10.0.0.0/8"],
            },
        ],
        replacement_properties={"protocol_port": 81},
    ),
    _case(
        "Listener",
        NET,
        SUBNET,
        LOAD_BALANCER,
        properties={
            **LISTENER[2],
            "protocol": "TERMINATED_HTTPS",
            "default_tls_container_ref": "r",
        },
        changes=[{"default_tls_container_ref": "q", "sni_container_refs": ["s"]}],
        replacement_properties={"protocol_port": 81},
        case_label="Listener that terminates TLS",
        runs_on=SupportedCloud.EMULATION_ONLY,  # its certificates would have to be in Barbican
    ),
    _case(
        "Pool",
        NET,
        SUBNET,
        LOAD_BALANCER,
        LISTENER,
        properties=POOL[2],
        changes=[
            {"lb_algorithm": "SOURCE_IP", **NAME_AND_DESCRIPTION},
            {
                "admin_state_up": False,
                "tls_enabled": True,
                "session_persistence": {"type": "SOURCE_IP"},
            },
        ],
        replacement_properties=None,  # a listener has one default pool
    ),
    _case(
        "PoolMember",
        *POOL_PREREQUISITES,
        properties={
            "pool": {"get": "pool"},
            "address": "10.0.0.4",
            "protocol_port": 80,
            "subnet": {"get": "subnet"},
        },
        changes=[{"weight": 7}, {"admin_state_up": False, "tags": ["t"]}],
        replacement_properties={"protocol_port": 81},
    ),
    _case(
        "HealthMonitor",
        *POOL_PREREQUISITES,
        properties={
            "pool": {"get": "pool"},
            "type": "HTTP",
            "delay": 1,
            "timeout": 1,
            "max_retries": 2,
        },
        changes=[
            {"delay": 2, "max_retries": 3, "timeout": 2},
            {
                "admin_state_up": False,
                "expected_codes": "200",
                "http_method": "HEAD",
                "url_path": "/x",
            },
        ],
        replacement_properties=None,  # a pool has one monitor
    ),
    _case(
        "L7Policy",
        *POOL_PREREQUISITES,
        L7_POLICY,  # otherwise the service changes any position to the first
        properties=L7_POLICY[2],
        changes=[
            {
                "action": "REDIRECT_TO_POOL",
                "redirect_pool": {"get": "pool"},
                **NAME_AND_DESCRIPTION,
            },
            {
                "action": "REDIRECT_TO_URL",
                "redirect_pool": None,
                "redirect_url": "http://a.example",
                "position": 1,
                "admin_state_up": False,
            },
        ],
    ),
    _case(
        "L7Rule",
        *POOL_PREREQUISITES,
        L7_POLICY,
        properties={
            "l7policy": {"get": "policy"},
            "type": "PATH",
            "value": "/x",
            "compare_type": "STARTS_WITH",
        },
        changes=[
            {"value": "/y"},
            {
                "type": "HEADER",
                "key": "k",
                "compare_type": "CONTAINS",
                "invert": True,
                "admin_state_up": False,
            },
        ],
        replacement_properties={"value": "/z"},
    ),
    _case(
        "FlavorProfile",
        properties={"flavor_data": "{}", "provider_name": "octavia"},
        changes=[
            {"provider_name": "amphora"},
            {"flavor_data": '{"loadbalancer_topology": "SINGLE"}', "name": "hc-fp"},
        ],
        needs_admin=True,
    ),
    _case(
        "Flavor",
        ("profile", "OS::Octavia::FlavorProfile", {"flavor_data": "{}", **PROVIDER}),
        properties={"flavor_profile": {"get": "profile"}},
        changes=[{"enabled": False}, NAME_AND_DESCRIPTION],
        replacement_properties={"name": "hc-other-flavor"},
        needs_admin=True,
    ),
    _case(
        "AvailabilityZoneProfile",
        properties={"availability_zone_data": "{}", **PROVIDER},
        changes=[
            {"name": "hc-azp"},
            {"availability_zone_data": '{"compute_zone": "nova"}'},
            {"provider_name": "octavia"},
        ],
        needs_admin=True,
    ),
    _case(
        "AvailabilityZone",
        (
            "profile",
            "OS::Octavia::AvailabilityZoneProfile",
            {"availability_zone_data": "{}", **PROVIDER},
        ),
        properties={"availability_zone_profile": {"get": "profile"}},
        changes=[{"description": "d", "enabled": False}],
        needs_admin=True,
    ),
    _case(
        "Quota",
        always_exists=True,
        needs_admin=True,
        replacement_properties=None,
        properties={"project": "{other_project}", "pool": 7},
        changes=[{"pool": 8}, {"healthmonitor": 1, "listener": 2, "loadbalancer": 3, "member": 4}],
    ),
]
