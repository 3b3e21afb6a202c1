"""Conformance cases of Glance's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::{name}", prerequisites, needs_admin=admin, **fields)


CASES = [
    _case(
        "Glance::WebImage",
        properties={"disk_format": "raw", "container_format": "bare", "location": "{file}"},
        changes=[
            {"tags": ["t"], "os_distro": "fedora", "os_version": "40", "architecture": "x86_64"},
            {"protected": True, "extra_properties": {"a": "b", "c": "d"}},
            {
                "protected": False,
                "extra_properties": {"a": "e"},
                "visibility": "shared",
                "members": ["{other_project}"],
            },
            {"members": [], "active": True, "os_distro": None},
            {"kernel_id": "{uuid}", "ramdisk_id": "{uuid}"},
        ],
    ),
    _case(
        "Glance::WebImage",
        admin=True,
        properties={"disk_format": "raw", "container_format": "bare", "location": "{file}"},
        changes=[{"active": False}, {"active": True, "owner": "{other_project}"}],
        case_label="WebImage of an administrator",
    ),
]
