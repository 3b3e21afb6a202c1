"""Resource types that only an administrator of the project may use.

Registered through ``rules``; a table, and nothing else.  A type that is not
named here is for everybody.  Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import PROJECT_ADMIN, PolicyRule, rule_defaults

_TYPES = (
    "OS::Nova::Flavor",
    "OS::Cinder::EncryptedVolumeType",
    "OS::Cinder::VolumeType",
    "OS::Cinder::Quota",
    "OS::Neutron::Quota",
    "OS::Nova::Quota",
    "OS::Octavia::Quota",
    "OS::Manila::ShareType",
    "OS::Neutron::ProviderNet",
    "OS::Neutron::QoSPolicy",
    "OS::Neutron::QoSBandwidthLimitRule",
    "OS::Neutron::QoSDscpMarkingRule",
    "OS::Neutron::QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule",
    "OS::Neutron::Segment",
    "OS::Nova::HostAggregate",
    "OS::Cinder::QoSSpecs",
    "OS::Cinder::QoSAssociation",
    "OS::Keystone::*",
    "OS::Blazar::Host",
    "OS::Octavia::Flavor",
    "OS::Octavia::FlavorProfile",
    "OS::Octavia::AvailabilityZone",
    "OS::Octavia::AvailabilityZoneProfile",
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(
        PolicyRule(f"resource_types:{name}", PROJECT_ADMIN, None) for name in _TYPES
    )
