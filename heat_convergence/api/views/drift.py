"""Drift as clients read it: of a stack, and of a project.

Pure functions of what was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    MassLossBreaker,
    StackDriftControl,
)
from heat_convergence.convergence.drift.policy import OperatorPolicies, resolve_policy
from heat_convergence.convergence.drift.repair_budget import RepairStatus, ResourceRepair
from heat_convergence.convergence.drift.repair_preview import PreviewedRepair
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift.reads import DriftEntry, ResourceDrift, summarize
from heat_convergence.db.drift.unread_resources import UnreadResource
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.text_redaction import mask_values

Json = Any


def format_resource_drift(drift: ResourceDrift) -> dict[str, Json]:
    """Return the keys that the view of a resource has about drift."""
    return {"drift_status": str(drift.status), "observed_at": format_time(drift.observed_at)}


def format_stack_drift(
    stack: Stack, counts: Mapping[DriftStatus, int], *, unread: int
) -> dict[str, Json]:
    """Return the drift of a stack without its resources.

    Args:
        stack: the stack.
        counts: the number of its resources by status.
        unread: the number of those whose policy has no effect; only their count shows them.
    """
    shown = {str(status): counts.get(status, 0) for status in DriftStatus}
    shown[DriftStatus.UNKNOWN] += unread
    return {
        "stack_id": stack.id,
        "stack_name": stack.name,
        "drift_status": str(summarize(counts)),
        "resource_counts": shown,
    }


def format_control(control: StackDriftControl) -> dict[str, Json]:
    """Return what users have set for the drift of a stack."""
    policy = None if control.policy is None else str(control.policy)
    window = control.repair_window
    return {
        "stack_id": control.stack_id,
        "policy": policy,
        "paused": control.paused,
        "repair_window": None if window is None else window.as_document(),
    }


def format_breaker(breaker: MassLossBreaker) -> dict[str, Json]:
    """Return a suspected mass loss."""
    return {
        "id": breaker.id,
        "resource_type": breaker.implementation,
        "region": breaker.region,
        "lost": breaker.lost,
        "total": breaker.total,
        "since": format_time(breaker.since),
        "confirmed": breaker.confirmed,
    }


def format_repair(repair: ResourceRepair, stack_name: str) -> dict[str, Json]:
    """Return the repairs of a resource that no user has requested."""
    suspended = repair.status is RepairStatus.SUSPENDED
    return {
        "stack_id": repair.stack_id,
        "stack_name": stack_name,
        "resource_name": repair.resource_name,
        "repair_status": str(repair.status),
        "repair_reason": repair.reason,
        "tries": repair.tries,
        "started_at": format_time(repair.started_at),
        "ended_at": format_time(repair.ended_at),
        "repair_outcome": None if repair.outcome is None else str(repair.outcome),
        "next_at": None if suspended else format_time(repair.next_at),
    }


def format_entry(entry: DriftEntry, *, shows_secrets: bool) -> dict[str, Json]:
    """Return a resource with what differs; values of sensitive resources may be masked."""
    found = entry.observation
    masked = found.sensitive and not shows_secrets
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
        "drift_policy": str(found.policy or DriftPolicy.REPORT),
        "properties": _format_properties(found.properties, masked=masked),
    }


def format_unread(unread: UnreadResource, reason: str) -> dict[str, Json]:
    """Return a resource whose policy has no effect, with the keys of a resource that was read."""
    policy = resolve_policy(unread.words, None, unread.resource_type, OperatorPolicies())
    return {
        "resource_name": unread.resource_name,
        "resource_type": unread.resource_type,
        "physical_resource_id": unread.physical_id or "",
        "stack_id": unread.stack_id,
        "stack_name": unread.stack_name,
        **format_resource_drift(ResourceDrift(DriftStatus.UNKNOWN)),
        "drift_since": None,
        "drift_reason": reason,
        "observation_source": None,
        "drift_policy": str(policy.of_resource),
        "properties": [],
    }


def format_repair_preview(
    stack: Stack, previewed: Sequence[PreviewedRepair], shows_secrets: bool
) -> dict[str, Json]:
    """Return what a repair of a stack would do."""
    return {
        "stack_id": stack.id,
        "stack_name": stack.name,
        "dry_run": True,
        "resources": [_format_previewed(each, shows_secrets) for each in previewed],
    }


def _format_previewed(previewed: PreviewedRepair, shows_secrets: bool) -> dict[str, Json]:
    resource = previewed.resource
    masked = resource.sensitive and not shows_secrets
    return {
        "stack_id": resource.stack_id,
        "stack_name": resource.stack_name,
        "resource_name": resource.name,
        "resource_type": resource.type,
        "physical_resource_id": resource.physical_id,
        "drift_status": str(resource.status),
        "observed_at": format_time(resource.observed_at),
        "repair_action": str(previewed.action),
        "repair_reason": previewed.reason,
        "properties": _format_properties(previewed.properties, masked=masked),
    }


def _format_properties(
    properties: Sequence[Mapping[str, Json]], *, masked: bool
) -> list[dict[str, Json]]:
    """Return the properties that differ; the values may be masked."""
    if not masked:
        return [dict(each) for each in properties]
    return [
        {"property": each["property"]}
        | mask_values({"applied": each["applied"], "observed": each["observed"]})
        for each in properties
    ]
