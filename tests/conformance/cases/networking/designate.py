"""Conformance cases of Designate's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud

ZONE: tuple[str, str, dict[str, Any]] = (
    "zone",
    "OS::Designate::Zone",
    {"name": "hc.example.", "email": "a@hc.example"},
)


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Designate::{name}", prerequisites, **fields)


CASES = [
    _case(
        "Zone",
        properties={
            "name": "hc-zone.example.",
            "email": "a@hc.example",
            "ttl": 300,
            "attributes": {"pool_level": "gold"},
        },
        changes=[
            {"email": "b@hc.example", "ttl": 600, "description": "d"},
            {"description": None},
        ],
        emulation_attributes={"serial": 1_700_000_000},
        replacement_properties={"name": "hc-other.example."},
    ),
    _case(
        "Zone",
        properties={
            "name": "hc-zone.example.",
            "type": "SECONDARY",
            "masters": ["192.0.2.1"],
            "email": "of-no-use@hc.example",
            "ttl": 300,
        },
        changes=[{"masters": ["192.0.2.2"]}, {"masters": None, "primaries": ["192.0.2.3"]}],
        replacement_properties={"name": "hc-other.example."},
        case_label="Zone of type SECONDARY",
        runs_on=SupportedCloud.EMULATION_ONLY,  # its name server would have to exist
    ),
    _case(
        "RecordSet",
        ZONE,
        properties={"zone": "hc.example.", "type": "A", "records": ["192.0.2.7"]},
        changes=[
            {"records": ["192.0.2.8", "192.0.2.9"], "ttl": 60},
            {"description": "d", "ttl": None},
        ],
    ),
    _case(
        "RecordSet",
        ZONE,
        properties={
            "zone": {"get": "zone"},
            "name": "www",
            "type": "CNAME",
            "description": "d",
            "records": ["hc.example."],
        },
        replacement_properties={"name": "web.hc.example."},
        case_label="RecordSet of a given name",
    ),
]
