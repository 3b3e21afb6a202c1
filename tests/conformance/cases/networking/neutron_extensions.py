"""Conformance cases of Neutron's extensions: QoS, segments, trunks, RBAC, metering, quotas."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase
from tests.conformance.cases.networking.networks import NET, QOS_POLICY


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Neutron::{name}", prerequisites, needs_admin=admin, **fields)


CASES = [
    _case(
        "QoSPolicy",
        admin=True,
        properties={"description": "d"},
        changes=[{"name": "hc-policy", "shared": True}, {"description": "e"}],
    ),
    _case(
        "QoSBandwidthLimitRule",
        QOS_POLICY,
        admin=True,
        properties={"policy": {"get": "policy"}, "max_kbps": 1000},
        changes=[{"max_kbps": 2000, "max_burst_kbps": 100}, {"direction": "ingress"}],
        replacement_properties={"direction": "egress"},
    ),
    _case(
        "QoSDscpMarkingRule",
        QOS_POLICY,
        admin=True,
        properties={"policy": {"get": "policy"}, "dscp_mark": 16},
        changes=[{"dscp_mark": 18}],
        replacement_properties=None,
    ),
    _case(
        "QoSMinimumBandwidthRule",
        QOS_POLICY,
        admin=True,
        properties={"policy": {"get": "policy"}, "min_kbps": 10},
        changes=[{"min_kbps": 20}, {"direction": "ingress"}],
        replacement_properties={"direction": "egress"},
    ),
    _case(
        "QoSMinimumPacketRateRule",
        QOS_POLICY,
        admin=True,
        properties={"policy": {"get": "policy"}, "min_kpps": 10},
        changes=[{"min_kpps": 20}, {"direction": "ingress"}],
        replacement_properties={"direction": "egress"},
    ),
    _case(
        "Segment",
        ("net", "OS::Neutron::ProviderNet", {"network_type": "vxlan"}),
        admin=True,
        properties={"network": {"get": "net"}, "network_type": "vxlan", "segmentation_id": 777},
        changes=[{"name": "hc-seg", "description": "d"}],
        replacement_properties={"segmentation_id": 778},
    ),
    _case(
        "Trunk",
        NET,
        ("parent", "OS::Neutron::Port", {"network": {"get": "net"}}),
        ("child", "OS::Neutron::Port", {"network": {"get": "net"}}),
        ("third", "OS::Neutron::Port", {"network": {"get": "net"}}),
        properties={"port": {"get": "parent"}},
        changes=[
            {
                "name": "hc-trunk",
                "sub_ports": [
                    {"port": {"get": "child"}, "segmentation_type": "vlan", "segmentation_id": 100}
                ],
            },
            {"sub_ports": None, "description": "d"},
            {"admin_state_up": False},
            {"admin_state_up": True},
        ],
        attributes={"port_id": {"get": "parent"}},
        replacement_properties={"port": {"get": "third"}},
    ),
    _case(
        "RBACPolicy",
        NET,
        admin=True,
        properties={
            "object_type": "network",
            "object_id": {"get": "net"},
            "target_tenant": "{other_project}",
            "action": "access_as_shared",
        },
        changes=[{"target_tenant": "{third_project}"}],
        replacement_properties={"target_tenant": "{other_project}"},
    ),
    _case("MeteringLabel", admin=True, properties={"description": "d"}),
    _case(
        "MeteringRule",
        ("label", "OS::Neutron::MeteringLabel", {}),
        admin=True,
        properties={"metering_label_id": {"get": "label"}, "remote_ip_prefix": "10.0.0.0/24"},
        replacement_properties={"remote_ip_prefix": "10.0.1.0/24"},
    ),
    _case(
        "Quota",
        admin=True,
        always_exists=True,
        replacement_properties=None,
        properties={"project": "{other_project}", "network": 77},
        changes=[
            {"network": 78, "port": 9},
            {
                "floatingip": 1,
                "rbac_policy": 2,
                "router": 3,
                "security_group": 4,
                "security_group_rule": 5,
                "subnet": 6,
                "subnetpool": 7,
            },
        ],
    ),
]
