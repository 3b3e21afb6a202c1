"""All cases of the suite."""

from __future__ import annotations

from tests.conformance import (
    compute_cases,
    emulated_cases,
    identity_cases,
    neutron_cases,
    storage_cases,
)

CASES = [
    *neutron_cases.CASES,
    *storage_cases.CASES,
    *identity_cases.CASES,
    *compute_cases.CASES,
    *emulated_cases.CASES,
]
