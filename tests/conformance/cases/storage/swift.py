"""Conformance cases of Swift's type, which only the emulation has."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(
        f"OS::{name}", prerequisites, runs_on=SupportedCloud.EMULATION_ONLY, **fields
    )


CASES = [
    _case(
        "Swift::Container",
        properties={"name": "hc-box", "PurgeOnDelete": True, "X-Container-Meta": {"a": "b"}},
        attributes={"ObjectCount": 1, "DomainName": "cloud.invalid"},
        replacement_properties={"name": "hc-box-2"},
    ),
]
