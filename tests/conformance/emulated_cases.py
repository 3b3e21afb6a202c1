"""Lives of types whose services only the emulation has."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case
from tests.conformance.neutron_cases import NET, SUBNET

BALANCER = ("lb", "OS::Octavia::LoadBalancer", {"vip_subnet": {"get": "subnet"}})
LISTENER: tuple[str, str, dict[str, Any]] = (
    "listener", "OS::Octavia::Listener",
    {"loadbalancer": {"get": "lb"}, "protocol": "HTTP", "protocol_port": 80},
)
POOL: tuple[str, str, dict[str, Any]] = (
    "pool", "OS::Octavia::Pool",
    {"listener": {"get": "listener"}, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"},
)
ALL = (NET, SUBNET, BALANCER, LISTENER, POOL)
POLICY = ("policy", "OS::Octavia::L7Policy",
          {"action": "REJECT", "listener": {"get": "listener"}})


def _case(name: str, *before: Any, **given: Any) -> Case:
    return Case(f"OS::{name}", before, **given)


CASES = [
    _case("Octavia::LoadBalancer", NET, SUBNET,
          properties={"vip_subnet": {"get": "subnet"}},
          updates=[{"vip_subnet": {"get": "subnet"}, "name": "hc-lb", "description": "d"}]),
    _case("Octavia::Listener", NET, SUBNET, BALANCER, properties=LISTENER[2],
          updates=[{**LISTENER[2], "connection_limit": 5, "admin_state_up": False}]),
    _case("Octavia::Pool", NET, SUBNET, BALANCER, LISTENER, properties=POOL[2],
          updates=[{**POOL[2], "lb_algorithm": "SOURCE_IP"}]),
    _case("Octavia::PoolMember", *ALL,
          properties={"pool": {"get": "pool"}, "address": "10.0.0.4", "protocol_port": 80,
                      "subnet": {"get": "subnet"}},
          updates=[{"pool": {"get": "pool"}, "address": "10.0.0.4", "protocol_port": 80,
                    "subnet": {"get": "subnet"}, "weight": 7}]),
    _case("Octavia::HealthMonitor", *ALL,
          properties={"pool": {"get": "pool"}, "type": "PING", "delay": 1, "timeout": 1,
                      "max_retries": 2},
          updates=[{"pool": {"get": "pool"}, "type": "PING", "delay": 2, "timeout": 1,
                    "max_retries": 3}]),
    _case("Octavia::L7Policy", *ALL, properties=POLICY[2],
          updates=[{"action": "REDIRECT_TO_POOL", "listener": {"get": "listener"},
                    "redirect_pool": {"get": "pool"}}]),
    _case("Octavia::L7Rule", *ALL, POLICY,
          properties={"l7policy": {"get": "policy"}, "type": "PATH", "value": "/x",
                      "compare_type": "STARTS_WITH"},
          updates=[{"l7policy": {"get": "policy"}, "type": "PATH", "value": "/y",
                    "compare_type": "STARTS_WITH"}]),
    _case("Octavia::FlavorProfile", properties={"flavor_data": "{}", "provider_name": "p"},
          updates=[{"flavor_data": "{}", "provider_name": "q"}]),
    _case("Octavia::Flavor", ("profile", "OS::Octavia::FlavorProfile", {"flavor_data": "{}"}),
          properties={"flavor_profile": {"get": "profile"}},
          updates=[{"flavor_profile": {"get": "profile"}, "enabled": False}]),
    _case("Octavia::AvailabilityZoneProfile",
          properties={"availability_zone_data": "{}"},
          updates=[{"availability_zone_data": "{}", "name": "hc-azp"}]),
    _case("Octavia::AvailabilityZone",
          ("profile", "OS::Octavia::AvailabilityZoneProfile", {"availability_zone_data": "{}"}),
          properties={"availability_zone_profile": {"get": "profile"}}),
    _case("Octavia::Quota", lasting=True,
          properties={"project": "{other_project}", "pool": 7},
          updates=[{"project": "{other_project}", "pool": 8}]),
    _case("Swift::Container",
          properties={"name": "hc-box", "PurgeOnDelete": True, "X-Container-Meta": {"a": "b"}},
          attributes={"ObjectCount": 1, "DomainName": "cloud.invalid"}),
    _case("Neutron::FirewallRule", properties={"protocol": "tcp"},
          updates=[{"protocol": "udp", "name": "hc-rule"}]),
    _case("Neutron::IKEPolicy", properties={}, updates=[{"ike_version": "v2"}]),
    _case("Neutron::IPsecPolicy", properties={}, updates=[{"name": "hc-ipsec"}]),
    _case("Neutron::VPNService", NET, SUBNET, ("router", "OS::Neutron::Router", {}),
          properties={"subnet_id": {"get": "subnet"}, "router_id": {"get": "router"}},
          updates=[{"subnet": {"get": "subnet"}, "router": {"get": "router"},
                    "admin_state_up": False}]),
    _case("Neutron::TaaS::TapService", NET,
          ("port", "OS::Neutron::Port", {"network": {"get": "net"}}),
          properties={"port": {"get": "port"}},
          updates=[{"port": {"get": "port"}, "description": "d"}]),
]
