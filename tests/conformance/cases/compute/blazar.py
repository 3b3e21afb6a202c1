"""Conformance cases of Blazar's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    fields.setdefault("runs_on", SupportedCloud.EMULATION_ONLY)
    return ConformanceCase(f"OS::Blazar::{name}", prerequisites, **fields)


DATES = {"start_date": "2027-01-01 00:00", "end_date": "2027-01-02 00:00"}
INSTANCES = {
    "resource_type": "virtual:instance",
    "amount": 1,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "min": 3,
}

CASES = [
    _case(
        "Host",
        properties={"name": "hc-host-1", "extra_capability": {"gpu": "yes", "name": "no"}},
        attributes={"vcpus": 4, "extra_capability": {"gpu": "yes"}},
        replacement_properties={"name": "hc-host-2"},
        runs_on=SupportedCloud.EMULATION_ONLY,  # the only host of the test cloud has servers
        needs_admin=True,
    ),
    _case(
        "Lease",
        properties={
            "name": "hc-lease",
            **DATES,
            "before_end_date": "2027-01-01 12:00",
            "reservations": [
                {"resource_type": "physical:host", "min": 1, "max": 2, "vcpus": 8},
                INSTANCES,
            ],
        },
        attributes={"status": "PENDING", "degraded": False},
        replacement_properties={"name": "hc-lease-2"},
        runs_on=SupportedCloud.EMULATION_ONLY,  # the test cloud has no reservable host
    ),
    _case(
        "Lease",
        properties={"name": "hc-lease", **DATES, "reservations": [INSTANCES]},
        attributes={"status": "PENDING", "degraded": False},
        replacement_properties={"name": "hc-lease-2"},
        case_label="Lease of instances",
    ),
]
