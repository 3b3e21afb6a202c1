"""Conformance cases of Ironic's type."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    fields.setdefault("runs_on", SupportedCloud.EMULATION_ONLY)
    return ConformanceCase(f"OS::Ironic::{name}", prerequisites, **fields)


CASES = [
    _case(
        "Port",
        properties={"node": "{node}", "address": "52:54:00:AA:00:01", "is_smartnic": True},
        changes=[
            {
                "address": "52:54:00:aa:00:02",
                "portgroup": "{portgroup}",
                "physical_network": "net-1",
                "extra": {"rack": "7"},
                "local_link_connection": {"switch_id": "00:00:00:00:00:01", "port_id": "1"},
            },
            {"pxe_enabled": False, "is_smartnic": None, "node": "{second_node}"},
            {
                "portgroup": None,
                "physical_network": None,
                "extra": None,
                "pxe_enabled": None,
                "local_link_connection": None,
            },
        ],
        attributes={"pxe_enabled": True, "physical_network": None, "extra": {}},
        replacement_properties={"address": "52:54:00:aa:00:03"},
        needs_admin=True,
    ),
]
