"""The notifications of other services that tell of changes of physical resources.

Data only: ``observer.notifications.parsing`` reads it. What a service does not announce, such as
the status of ports, is missing here; the watch and the polls find it.

Source: the modules of nova, neutron, cinder, glance, keystone, octavia, designate, manila, aodh,
magnum, trove and blazar that emit notifications.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_NOVA = "nova_object.data"


@dataclass(frozen=True, slots=True)
class NotificationType:
    """Notifications of one kind of change.

    Attributes:
        service: The type of the service.
        events: Patterns of event types.
        ids: Paths of the ids of physical resources, all of which count. ``*`` stands for each
            element of a list.
        projects: Paths of the project, the first of which counts. Without one it is that of
            the user who has made the change.
        resource_types: The types that have these ids.
        types_without_ids: Types that may have changed without their ids in the notification.
    """

    service: str
    events: tuple[str, ...]
    ids: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    resource_types: tuple[str, ...] = ()
    types_without_ids: tuple[str, ...] = ()


_COMPUTE = (
    NotificationType(
        "compute",
        (
            "instance.volume_attach.end",
            "instance.volume_detach.end",
            "instance.volume_swap.end",
            "compute.instance.volume.attach",
            "compute.instance.volume.detach",
        ),
        (f"{_NOVA}/uuid", "instance_id"),
        (f"{_NOVA}/tenant_id", "tenant_id"),
        ("OS::Nova::Server",),
        ("OS::Cinder::VolumeAttachment",),
    ),
    NotificationType(
        "compute",
        ("instance.*", "compute.instance.*"),
        (f"{_NOVA}/uuid", "instance_id"),
        (f"{_NOVA}/tenant_id", "tenant_id"),
        ("OS::Nova::Server",),
    ),
    NotificationType(
        "compute",
        ("compute_task.*",),
        (f"{_NOVA}/instance_uuid", "instance_id"),
        (
            f"{_NOVA}/request_spec/{_NOVA}/project_id",
            "request_spec/instance_properties/project_id",
        ),
        ("OS::Nova::Server",),
    ),
    NotificationType(
        "compute",
        ("server_group.*", "servergroup.*"),
        (f"{_NOVA}/uuid", "server_group_id"),
        (f"{_NOVA}/project_id",),
        ("OS::Nova::ServerGroup",),
    ),
    NotificationType("compute", ("flavor.*",), (f"{_NOVA}/flavorid",), (), ("OS::Nova::Flavor",)),
    NotificationType(
        "compute",
        ("aggregate.*",),
        (f"{_NOVA}/id", "aggregate_id"),
        (),
        ("OS::Nova::HostAggregate",),
    ),
)

# Name of a resource in notifications → name of several of them, and resource types.
_NETWORK_RESOURCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "network": ("networks", ("OS::Neutron::Net", "OS::Neutron::ProviderNet")),
    "subnet": ("subnets", ("OS::Neutron::Subnet",)),
    "port": ("ports", ("OS::Neutron::Port",)),
    "router": ("routers", ("OS::Neutron::Router",)),
    "floatingip": ("floatingips", ("OS::Neutron::FloatingIP", "OS::Nova::FloatingIP")),
    "port_forwarding": ("port_forwardings", ("OS::Neutron::FloatingIPPortForward",)),
    "security_group": ("security_groups", ("OS::Neutron::SecurityGroup",)),
    "subnetpool": ("subnetpools", ("OS::Neutron::SubnetPool",)),
    "address_scope": ("address_scopes", ("OS::Neutron::AddressScope",)),
    "rbac_policy": ("rbac_policies", ("OS::Neutron::RBACPolicy",)),
    "trunk": ("trunks", ("OS::Neutron::Trunk",)),
    "segment": ("segments", ("OS::Neutron::Segment",)),
    "metering_label": ("metering_labels", ("OS::Neutron::MeteringLabel",)),
    "metering_label_rule": ("metering_label_rules", ("OS::Neutron::MeteringRule",)),
    "policy": ("policies", ("OS::Neutron::QoSPolicy",)),
    "bandwidth_limit_rule": ("bandwidth_limit_rules", ("OS::Neutron::QoSBandwidthLimitRule",)),
    "dscp_marking_rule": ("dscp_marking_rules", ("OS::Neutron::QoSDscpMarkingRule",)),
    "minimum_bandwidth_rule": (
        "minimum_bandwidth_rules",
        ("OS::Neutron::QoSMinimumBandwidthRule",),
    ),
    "minimum_packet_rate_rule": (
        "minimum_packet_rate_rules",
        ("OS::Neutron::QoSMinimumPacketRateRule",),
    ),
    "vpnservice": ("vpnservices", ("OS::Neutron::VPNService",)),
    "ikepolicy": ("ikepolicies", ("OS::Neutron::IKEPolicy",)),
    "ipsecpolicy": ("ipsecpolicies", ("OS::Neutron::IPsecPolicy",)),
    "ipsec_site_connection": (
        "ipsec_site_connections",
        ("OS::Neutron::IPsecSiteConnection",),
    ),
    "firewall": ("firewalls", ("OS::Neutron::Firewall",)),
    "firewall_policy": ("firewall_policies", ("OS::Neutron::FirewallPolicy",)),
    "firewall_rule": ("firewall_rules", ("OS::Neutron::FirewallRule",)),
    "l2_gateway": ("l2_gateways", ("OS::Neutron::L2Gateway",)),
    "l2_gateway_connection": (
        "l2_gateway_connections",
        ("OS::Neutron::L2GatewayConnection",),
    ),
    "tap_service": ("tap_services", ("OS::Neutron::TaaS::TapService",)),
    "tap_flow": ("tap_flows", ("OS::Neutron::TaaS::TapFlow",)),
    "network_gateway": ("network_gateways", ("OS::Neutron::NetworkGateway",)),
}


def _network_types() -> Iterator[NotificationType]:
    for name, (collection, resource_types) in _NETWORK_RESOURCES.items():
        yield NotificationType(
            "network",
            (f"{name}.create.end", f"{name}.update.end", f"{name}.delete.end"),
            (f"{name}/id", f"{collection}/*/id", f"{name}_id"),
            (f"{name}/project_id", f"{collection}/*/project_id"),
            resource_types,
        )


_NETWORK = (
    *_network_types(),
    NotificationType(
        "network",
        ("security_group_rule.create.end", "security_group_rule.delete.end"),
        (
            "security_group_rule/id",
            "security_group_rules/*/id",
            "security_group_rule_id",
            "security_group_rule/security_group_id",
            "security_group_rules/*/security_group_id",
        ),
        ("security_group_rule/project_id", "security_group_rules/*/project_id"),
        ("OS::Neutron::SecurityGroupRule", "OS::Neutron::SecurityGroup"),
    ),
    NotificationType(
        "network",
        ("router.interface.*",),
        ("router_interface/id", "router_interface/port_id"),
        ("router_interface/project_id",),
        ("OS::Neutron::Router", "OS::Neutron::Port"),
        ("OS::Neutron::RouterInterface",),
    ),
    NotificationType("network", ("tag.*.end",), ("obj_resource_id",)),
)

_STORAGE = (
    NotificationType(
        "block_storage",
        ("volume.*",),
        ("volume_id", "volume_attachment/*/id"),
        ("tenant_id",),
        ("OS::Cinder::Volume", "OS::Cinder::VolumeAttachment"),
    ),
    NotificationType(
        "block_storage",
        ("scheduler.*_volume", "scheduler.migrate_volume_to_host", "scheduler.retype"),
        ("volume_id",),
        ("volume_properties/project_id",),
        ("OS::Cinder::Volume",),
    ),
    NotificationType(
        "block_storage",
        ("backup.*",),
        ("backup_id", "volume_id"),
        ("tenant_id",),
        ("OS::Cinder::Volume",),
    ),
    NotificationType(
        "block_storage",
        ("volume_type.*", "volume_type_extra_specs.*", "volume_type_project.*"),
        ("volume_types/id", "type_id", "volume_type_id"),
        (),
        ("OS::Cinder::VolumeType",),
    ),
    NotificationType(
        "block_storage",
        ("qos_specs.update", "qos_specs.delete*", "qos_specs.*associate*"),
        ("id",),
        (),
        ("OS::Cinder::QoSSpecs",),
    ),
    NotificationType(
        "image", ("image.*",), ("id", "image_id"), ("owner",), ("OS::Glance::WebImage",)
    ),
)

_OTHERS = (
    *(
        NotificationType(
            "identity",
            (f"identity.{name}.*",),
            ("resource_info",),
            (),
            (f"OS::Keystone::{name.capitalize()}",),
        )
        for name in (
            "user",
            "group",
            "project",
            "domain",
            "role",
            "service",
            "endpoint",
            "region",
        )
    ),
    NotificationType(
        "load_balancer",
        ("octavia.loadbalancer.*",),
        ("loadbalancer_id",),
        ("project_id",),
        ("OS::Octavia::LoadBalancer",),
    ),
    NotificationType("dns", ("dns.zone.*",), ("id",), ("tenant_id",), ("OS::Designate::Zone",)),
    NotificationType(
        "dns", ("dns.recordset.*",), ("id",), ("tenant_id",), ("OS::Designate::RecordSet",)
    ),
    NotificationType(
        "shared_file_system",
        ("share_type.*", "share_type_extra_specs.*"),
        ("share_types/id", "type_id"),
        (),
        ("OS::Manila::ShareType",),
    ),
    NotificationType(
        "shared_file_system",
        ("share.*", "scheduler.create_share"),
        ("share_id",),
        ("project_id", "share_properties/project_id"),
        ("OS::Manila::Share",),
    ),
    NotificationType(
        "alarm",
        ("alarm.*",),
        ("alarm_id",),
        ("on_behalf_of",),
        (
            "OS::Aodh::CompositeAlarm",
            "OS::Aodh::EventAlarm",
            "OS::Aodh::GnocchiAggregationByMetricsAlarm",
            "OS::Aodh::GnocchiAggregationByResourcesAlarm",
            "OS::Aodh::GnocchiResourcesAlarm",
            "OS::Aodh::LBMemberHealthAlarm",
            "OS::Aodh::PrometheusAlarm",
        ),
    ),
    NotificationType(
        "container_infrastructure_management",
        ("magnum.cluster.*",),
        ("target/id",),
        ("target/attachments/*/content/project_id",),
        ("OS::Magnum::Cluster",),
    ),
    NotificationType(
        "database",
        ("dbaas.cluster_*",),
        ("cluster_id",),
        ("tenant_id",),
        ("OS::Trove::Cluster",),
    ),
    NotificationType(
        "database",
        ("trove.instance.*", "dbaas.*"),
        ("instance_id",),
        ("tenant_id",),
        ("OS::Trove::Instance",),
    ),
    NotificationType(
        "reservation",
        ("lease.*",),
        ("lease_id",),
        ("project_id",),
        ("OS::Blazar::Lease",),
    ),
)

NOTIFICATION_TYPES = (*_COMPUTE, *_NETWORK, *_STORAGE, *_OTHERS)
"""All of them; the first whose pattern fits counts."""

IGNORED_EVENTS = ("*.start", "*.exists", "*.send", "*.usage")
"""Patterns of event types that tell of no change, or of one that has only begun."""
