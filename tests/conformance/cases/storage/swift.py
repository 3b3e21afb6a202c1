"""Conformance cases of Swift's type."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Swift::{name}", prerequisites, **fields)


CASES = [
    _case(
        "Container",
        properties={"name": "hc-box", "PurgeOnDelete": True, "X-Container-Meta": {"a": "b"}},
        attributes={"DomainName": "{object_store_host}"},
        emulation_attributes={"ObjectCount": 1},
        replacement_properties={"name": "hc-box-2"},
    ),
]
