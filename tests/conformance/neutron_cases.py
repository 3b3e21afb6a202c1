"""Lives of Neutron's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case

NET = ("net", "OS::Neutron::Net", {})
SUBNET: tuple[str, str, dict[str, Any]] = (
    "subnet", "OS::Neutron::Subnet", {"network": {"get": "net"}, "cidr": "10.90.0.0/24"},
)
GROUP = ("group", "OS::Neutron::SecurityGroup", {})
POLICY = ("policy", "OS::Neutron::QoSPolicy", {})


def _case(name: str, *before: Any, admin: bool = False, **given: Any) -> Case:
    return Case(f"OS::Neutron::{name}", before, admin=admin, **given)


CASES = [
    _case(
        "Net",
        properties={"name": "hc-net", "admin_state_up": True, "tags": ["a"]},
        updates=[
            {"name": "hc-net-2", "tags": ["b", "c"]},
            {"admin_state_up": False, "port_security_enabled": False},
            {"name": "hc-net-2", "value_specs": {"description": "told by hand"},
             "admin_state_up": False},
        ],
        attributes={"status": "ACTIVE", "name": "hc-net-2", "admin_state_up": False},
    ),
    _case(
        "ProviderNet",
        admin=True,
        properties={"network_type": "vxlan", "segmentation_id": 4042},
        updates=[{"network_type": "vxlan", "segmentation_id": 4042, "name": "hc-prov",
                  "shared": False, "tags": ["t"]}],
    ),
    _case(
        "Subnet", NET,
        properties={"network_id": {"get": "net"}, "cidr": "10.91.0.0/24",
                    "tags": ["x"]},
        updates=[
            {"network": {"get": "net"}, "cidr": "10.91.0.0/24", "gateway_ip": "",
             "name": "hc-sub", "dns_nameservers": ["192.0.2.1"], "enable_dhcp": False},
            {"network": {"get": "net"}, "cidr": "10.91.0.0/24", "gateway_ip": "10.91.0.1",
             "host_routes": [{"destination": "10.99.0.0/24", "nexthop": "10.91.0.9"}]},
        ],
        attributes={"cidr": "10.91.0.0/24", "gateway_ip": "10.91.0.1"},
    ),
    _case("AddressScope", properties={"ip_version": 4}, updates=[{"name": "hc-scope"}]),
    _case(
        "SubnetPool", ("scope", "OS::Neutron::AddressScope", {}),
        properties={"prefixes": ["10.80.0.0/16"], "address_scope": {"get": "scope"},
                    "default_prefixlen": 26},
        updates=[{"prefixes": ["10.80.0.0/16", "10.81.0.0/16"], "default_prefixlen": 25,
                  "address_scope": {"get": "scope"}, "name": "hc-pool", "tags": ["p"]}],
    ),
    _case(
        "Port", NET, SUBNET, GROUP,
        properties={"network": {"get": "net"}},
        updates=[
            {"network": {"get": "net"}, "name": "hc-port", "admin_state_up": False},
            {"network": {"get": "net"}, "security_groups": [{"get": "group"}],
             "fixed_ips": [{"subnet": {"get": "subnet"}, "ip_address": "10.90.0.50"}]},
            {"network": {"get": "net"}, "tags": ["one"], "device_id": "d", "device_owner": "o:x",
             "allowed_address_pairs": [{"ip_address": "10.90.0.0/24"}]},
            {"network": {"get": "net"}, "no_fixed_ips": True},
        ],
        attributes={"status": "DOWN", "fixed_ips": []},
    ),
    _case(
        "Router",
        properties={},
        updates=[
            {"name": "hc-router", "external_gateway_info": {"network": "public"}},
            {"external_gateway_info": {"network": "public"}, "tags": ["r"],
             "admin_state_up": False},
            {"admin_state_up": True},
        ],
        attributes={"external_gateway_info": None},
    ),
    _case(
        "RouterInterface", NET, SUBNET, ("router", "OS::Neutron::Router", {}),
        properties={"router": {"get": "router"}, "subnet": {"get": "subnet"}},
    ),
    _case(
        "RouterInterface", NET, SUBNET, ("router", "OS::Neutron::Router", {}),
        ("port", "OS::Neutron::Port", {"network": {"get": "net"}, "fixed_ips": [
            {"subnet": {"get": "subnet"}}]}),
        properties={"router_id": {"get": "router"}, "port_id": {"get": "port"}},
        label="RouterInterface by port",
    ),
    _case(
        "SecurityGroup",
        properties={"rules": [
            {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22},
            {"protocol": "icmp", "remote_mode": "remote_group_id"},
        ]},
        updates=[
            {"rules": [{"protocol": "tcp", "port_range_min": 80, "port_range_max": 81}]},
            {"name": "hc-group", "description": "said", "rules": [
                {"direction": "egress", "protocol": "udp", "remote_ip_prefix": "10.0.0.0/8"}]},
            {"rules": []},
        ],
    ),
    _case(
        "SecurityGroupRule", GROUP,
        properties={"security_group": {"get": "group"}, "protocol": "tcp",
                    "port_range_min": 80, "port_range_max": 80},
    ),
    _case(
        "FloatingIP", NET, SUBNET, ("router", "OS::Neutron::Router",
                                   {"external_gateway_info": {"network": "public"}}),
        ("link", "OS::Neutron::RouterInterface",
         {"router": {"get": "router"}, "subnet": {"get": "subnet"}}),
        ("port", "OS::Neutron::Port", {"network": {"get": "net"}}),
        properties={"floating_network": "public"},
        updates=[
            {"floating_network": "public", "port_id": {"get": "port"}},
            {"floating_network": "public"},
        ],
    ),
    _case(
        "FloatingIPAssociation", NET, SUBNET, ("router", "OS::Neutron::Router",
                                   {"external_gateway_info": {"network": "public"}}),
        ("link", "OS::Neutron::RouterInterface",
         {"router": {"get": "router"}, "subnet": {"get": "subnet"}}),
        ("port", "OS::Neutron::Port", {"network": {"get": "net"}}),
        ("ip", "OS::Neutron::FloatingIP", {"floating_network": "public"}),
        properties={"floatingip_id": {"get": "ip"}, "port_id": {"get": "port"}},
    ),
    _case(
        "FloatingIPPortForward", NET, SUBNET, ("router", "OS::Neutron::Router",
                                   {"external_gateway_info": {"network": "public"}}),
        ("link", "OS::Neutron::RouterInterface",
         {"router": {"get": "router"}, "subnet": {"get": "subnet"}}),
        ("port", "OS::Neutron::Port", {"network": {"get": "net"}, "fixed_ips": [
            {"ip_address": "10.90.0.77"}]}),
        ("ip", "OS::Neutron::FloatingIP", {"floating_network": "public"}),
        properties={"floating_ip": {"get": "ip"}, "internal_port": {"get": "port"},
                    "internal_ip_address": "10.90.0.77", "internal_port_number": 22,
                    "external_port": 2222, "protocol": "tcp"},
        updates=[{"floating_ip": {"get": "ip"}, "internal_port": {"get": "port"},
                  "internal_ip_address": "10.90.0.77", "internal_port_number": 23,
                  "external_port": 2223, "protocol": "tcp"}],
    ),
    _case(
        "ExtraRouteSet", NET, SUBNET, ("router", "OS::Neutron::Router", {}),
        ("link", "OS::Neutron::RouterInterface",
         {"router": {"get": "router"}, "subnet": {"get": "subnet"}}),
        properties={"router": {"get": "router"}, "routes": [
            {"destination": "10.55.0.0/24", "nexthop": "10.90.0.5"}]},
        updates=[{"router": {"get": "router"}, "routes": [
            {"destination": "10.56.0.0/24", "nexthop": "10.90.0.5"}]}],
    ),
    _case("QoSPolicy", admin=True, properties={"description": "d"},
          updates=[{"name": "hc-policy", "shared": True}]),
    _case("QoSBandwidthLimitRule", POLICY, admin=True,
          properties={"policy": {"get": "policy"}, "max_kbps": 1000},
          updates=[{"policy": {"get": "policy"}, "max_kbps": 2000, "max_burst_kbps": 100}]),
    _case("QoSDscpMarkingRule", POLICY, admin=True,
          properties={"policy": {"get": "policy"}, "dscp_mark": 16},
          updates=[{"policy": {"get": "policy"}, "dscp_mark": 18}]),
    _case("QoSMinimumBandwidthRule", POLICY, admin=True,
          properties={"policy": {"get": "policy"}, "min_kbps": 10},
          updates=[{"policy": {"get": "policy"}, "min_kbps": 20}]),
    _case("QoSMinimumPacketRateRule", POLICY, admin=True,
          properties={"policy": {"get": "policy"}, "min_kpps": 10},
          updates=[{"policy": {"get": "policy"}, "min_kpps": 20}]),
    _case("Segment", ("net", "OS::Neutron::ProviderNet", {"network_type": "vxlan"}), admin=True,
          properties={"network": {"get": "net"}, "network_type": "vxlan",
                      "segmentation_id": 777},
          updates=[{"network": {"get": "net"}, "network_type": "vxlan",
                    "segmentation_id": 777, "name": "hc-seg", "description": "d"}]),
    _case(
        "Trunk", NET, ("parent", "OS::Neutron::Port", {"network": {"get": "net"}}),
        ("child", "OS::Neutron::Port", {"network": {"get": "net"}}),
        properties={"port": {"get": "parent"}},
        updates=[
            {"port": {"get": "parent"}, "name": "hc-trunk", "sub_ports": [
                {"port": {"get": "child"}, "segmentation_type": "vlan",
                 "segmentation_id": 100}]},
            {"port": {"get": "parent"}},
        ],
        attributes={"port_id": {"get": "parent"}},
    ),
    _case("RBACPolicy", NET, admin=True,
          properties={"object_type": "network", "object_id": {"get": "net"},
                      "target_tenant": "{other_project}", "action": "access_as_shared"}),
    _case("MeteringLabel", admin=True, properties={"description": "d"}),
    _case("MeteringRule", ("label", "OS::Neutron::MeteringLabel", {}), admin=True,
          properties={"metering_label_id": {"get": "label"},
                      "remote_ip_prefix": "10.0.0.0/24"}),
    _case("Quota", admin=True, lasting=True,
          properties={"project": "{other_project}", "network": 77},
          updates=[{"project": "{other_project}", "network": 78, "port": 9}]),
]
