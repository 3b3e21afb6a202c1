"""Drift as clients read it: of a stack, and of a project.

Pure functions of what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift.reads import DriftEntry, ResourceDrift, summarize
from heat_convergence.template.text_redaction import mask_values

Json = Any


def format_resource_drift(drift: ResourceDrift) -> dict[str, Json]:
    """Return the keys that the view of a resource has about drift."""
    return {"drift_status": str(drift.status), "observed_at": format_time(drift.observed_at)}


def format_stack_drift(stack: Stack, counts: Mapping[DriftStatus, int]) -> dict[str, Json]:
    """Return the drift of a stack without its resources."""
    return {
        "stack_id": stack.id,
        "stack_name": stack.name,
        "drift_status": str(summarize(counts)),
        "resource_counts": {str(status): counts.get(status, 0) for status in DriftStatus},
    }


def format_entry(entry: DriftEntry, *, shows_secrets: bool) -> dict[str, Json]:
    """Return a resource with what differs; values of sensitive resources may be masked."""
    found = entry.observation
    properties = [dict(each) for each in found.properties]
    if found.sensitive and not shows_secrets:
        properties = [
            {"property": each["property"]}
            | mask_values({"applied": each["applied"], "observed": each["observed"]})
            for each in properties
        ]
    return {
        "resource_name": entry.resource_name,
        "resource_type": entry.resource_type,
        "physical_resource_id": entry.physical_id,
        "stack_id": found.stack_id,
        "stack_name": entry.stack_name,
        **format_resource_drift(entry.drift),
        "drift_since": format_time(found.since),
        "drift_reason": found.reason,
        "observation_source": str(found.source),
        "properties": properties,
    }
