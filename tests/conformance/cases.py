"""All cases of the conformance suite."""

from __future__ import annotations

from tests.conformance import (
    cinder_glance_cases,
    designate_cases,
    emulation_only_cases,
    keystone_cases,
    manila_cases,
    neutron_cases,
    neutron_extension_cases,
    nova_cases,
)

CASES = [
    *neutron_cases.CASES,
    *neutron_extension_cases.CASES,
    *cinder_glance_cases.CASES,
    *keystone_cases.CASES,
    *designate_cases.CASES,
    *manila_cases.CASES,
    *nova_cases.CASES,
    *emulation_only_cases.CASES,
]
