"""The comparison of observed properties with applied ones, by resource type.

A property that the template does not set is never compared, so that the service's own choice is
no drift. Single values that a call sends are compared without a declaration, ``name`` exactly and
others apart from case and notation; lists and maps only if they are declared here. What a body
does not show is not compared.

Source: the services' API references; docs/use/drift.rst lists what follows from this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from heat_convergence.convergence.drift.comparison import Comparison, PropertyComparison
from heat_convergence.resources.driver.type_spec import TypeSpec

EXACT = PropertyComparison(Comparison.EXACT)
NORMALIZED = PropertyComparison(Comparison.NORMALIZED)
SUBSET = PropertyComparison(Comparison.SUBSET)
SET_BY_SERVICE = PropertyComparison(Comparison.SET_BY_SERVICE)
NOT_READABLE = PropertyComparison(Comparison.NOT_READABLE)

_NAME = {"name": EXACT}
_TAGGED = {**_NAME, "tags": SUBSET}

_ALARM = dict.fromkeys(("alarm_actions", "ok_actions", "insufficient_data_actions"), SUBSET)

COMPARISONS: Mapping[str, Mapping[str, PropertyComparison]] = {
    "OS::Nova::Server": {
        **_TAGGED,
        "metadata": SUBSET,
        "flavor": PropertyComparison(Comparison.EXACT, "flavor.id"),
        "image": PropertyComparison(Comparison.EXACT, "image.id", is_restorable=False),
        "key_name": EXACT,
        "availability_zone": SET_BY_SERVICE,  # of the host, after a move
        "config_drive": SET_BY_SERVICE,  # forced by the operator's configuration
        "admin_pass": NOT_READABLE,
        "user_data": NOT_READABLE,
    },
    "OS::Nova::Flavor": {
        "extra_specs": SUBSET,
        "flavorid": SET_BY_SERVICE,  # "auto" lets the service choose
    },
    "OS::Nova::HostAggregate": {"hosts": SUBSET, "metadata": SUBSET},
    "OS::Nova::KeyPair": {"public_key": EXACT, "user": SET_BY_SERVICE},
    "OS::Neutron::Net": {
        **_TAGGED,
        "shared": SET_BY_SERVICE,  # true by an RBAC policy
        "value_specs": NOT_READABLE,
    },
    "OS::Neutron::ProviderNet": {**_TAGGED, "shared": SET_BY_SERVICE},
    "OS::Neutron::Subnet": {
        **_TAGGED,
        "dns_nameservers": EXACT,  # their order matters
        "host_routes": NORMALIZED,
        "allocation_pools": NORMALIZED,
        "segment": SET_BY_SERVICE,
    },
    "OS::Neutron::SubnetPool": {**_TAGGED, "prefixes": SUBSET},  # the service merges neighbors
    "OS::Neutron::Port": {
        **_TAGGED,
        "admin_state_up": EXACT,
        "fixed_ips": SUBSET,
        "security_groups": NORMALIZED,
        "allowed_address_pairs": SUBSET,
        "device_id": SET_BY_SERVICE,  # by the compute service
        "device_owner": SET_BY_SERVICE,
        "dns_name": SET_BY_SERVICE,
        "value_specs": NOT_READABLE,
    },
    "OS::Neutron::Router": {**_TAGGED, "external_gateway_info": SUBSET},
    "OS::Neutron::SecurityGroup": {
        **_NAME,
        "rules": PropertyComparison(Comparison.SUBSET, "security_group_rules"),
    },
    "OS::Neutron::FloatingIP": {"floating_ip_address": NORMALIZED, "dns_name": NORMALIZED},
    "OS::Neutron::FirewallPolicy": {"firewall_rules": EXACT},  # their order matters
    "OS::Cinder::Volume": {
        **_NAME,
        "description": EXACT,
        "size": PropertyComparison(Comparison.EXACT, is_restorable=False),  # it cannot shrink
        "volume_type": EXACT,
        "metadata": SUBSET,
        "availability_zone": SET_BY_SERVICE,
        "image": NOT_READABLE,
    },
    "OS::Cinder::VolumeType": {
        "metadata": PropertyComparison(Comparison.SUBSET, "extra_specs"),
    },
    "OS::Glance::WebImage": {**_NAME, "tags": SUBSET, "location": NOT_READABLE},
    "OS::Octavia::L7Policy": {"position": SET_BY_SERVICE},  # at most the number of policies
    "OS::Octavia::Pool": {"session_persistence": SUBSET},
    "OS::Octavia::LoadBalancer": {"vip_address": NORMALIZED},
    "OS::Octavia::Listener": {"allowed_cidrs": NORMALIZED},
    "OS::Cinder::QoSSpecs": {"specs": SUBSET},
    "OS::Cinder::EncryptedVolumeType": {
        **dict.fromkeys(("provider", "control_location", "cipher", "key_size"), NORMALIZED),
        "volume_type": NOT_READABLE,  # it is the id
    },
    **{
        f"OS::{service}::Quota": {"project": NOT_READABLE}  # it is the id
        for service in ("Cinder", "Neutron", "Nova", "Octavia")
    },
    "OS::Swift::Container": {
        "X-Container-Read": NORMALIZED,
        "X-Container-Write": NORMALIZED,
        "X-Container-Meta": SUBSET,
        "X-Account-Meta": NOT_READABLE,  # of the account
        "name": NOT_READABLE,  # it is the id
        "PurgeOnDelete": NOT_READABLE,  # of this service
    },
    "OS::Keystone::Project": {"tags": SUBSET},
    "OS::Keystone::User": {"password": NOT_READABLE},
    "OS::Manila::SecurityService": {"password": NOT_READABLE},  # shown, but not to be recorded
    **{
        f"OS::Aodh::{name}": _ALARM
        for name in (
            "CompositeAlarm",
            "EventAlarm",
            "GnocchiAggregationByMetricsAlarm",
            "GnocchiAggregationByResourcesAlarm",
            "GnocchiResourcesAlarm",
            "LBMemberHealthAlarm",
            "PrometheusAlarm",
        )
    },
    "OS::Barbican::Secret": {
        "payload": NOT_READABLE,
        "payload_content_type": NOT_READABLE,
        "payload_content_encoding": NOT_READABLE,
        "expiration": NOT_READABLE,  # shown in another notation
    },
    "OS::Barbican::Order": dict.fromkeys(
        ("name", "algorithm", "mode", "bit_length", "expiration", "pass_phrase"), NOT_READABLE
    ),
    "OS::Designate::RecordSet": {
        "name": SET_BY_SERVICE,  # completed by the name of the zone
        "records": NORMALIZED,
    },
    "OS::Blazar::Lease": {"start_date": NOT_READABLE, "end_date": NOT_READABLE},
    "OS::Ironic::Port": {"address": NORMALIZED, "extra": SUBSET, "local_link_connection": SUBSET},
    "OS::Magnum::ClusterTemplate": {"labels": SUBSET, "tls_disabled": SET_BY_SERVICE},
    "OS::Manila::Share": {"metadata": SUBSET, "share_type": SET_BY_SERVICE},
    "OS::Mistral::Workflow": {"description": NOT_READABLE, "type": NOT_READABLE},
    "OS::Trove::Instance": {"users": NOT_READABLE},
    "OS::Zaqar::Queue": {"metadata": SUBSET},
    "OS::Designate::Zone": {"masters": NORMALIZED, "primaries": NORMALIZED},
}

_QUOTA = "a request shows the quotas of one project"
_ASSIGNMENT = "a request shows the roles of one user or group"

READ_ALONE: Mapping[str, str] = {
    "OS::Cinder::EncryptedVolumeType": "a request shows the encryption of one volume type",
    "OS::Cinder::QoSAssociation": "a request shows the volume types of one QoS specification",
    "OS::Cinder::Quota": _QUOTA,
    "OS::Keystone::GroupRoleAssignment": _ASSIGNMENT,
    "OS::Keystone::UserRoleAssignment": _ASSIGNMENT,
    "OS::Neutron::Quota": _QUOTA,
    "OS::Nova::FloatingIPAssociation": "a request shows the ports of one server",
    "OS::Nova::KeyPair": "a list shows the key pairs of one user",
    "OS::Nova::Quota": _QUOTA,
    "OS::Octavia::Quota": _QUOTA,
    "OS::Swift::Container": "a list shows no headers",
}
"""Type → why no list shows its objects with what is compared: they are read one by one."""

UNREAD: Mapping[str, str] = {
    "OS::Mistral::CronTrigger": "it disappears after its last execution",
    "OS::Mistral::ExternalResource": "its executions are read one by one",
    "OS::Zaqar::SignedQueueURL": "a URL is not stored by the service",
}
"""Type → why the watch does not read its objects."""


def with_comparisons(spec: TypeSpec) -> TypeSpec:
    """Return the specification with its comparisons."""
    return replace(
        spec,
        comparisons=COMPARISONS.get(spec.name, {}),
        unlisted_reason=READ_ALONE.get(spec.name) or UNREAD.get(spec.name, ""),
        is_read_alone=spec.name in READ_ALONE,
    )
