"""The document of a plan: its resources as they are stored, and the summary of them.

Called by the API. Decides which values a gate in a pipeline reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.plans.duration import (
    PlannedStep,
    TypeHistory,
    estimate_duration,
)
from heat_convergence.convergence.plans.stored_plan import PlanAction, PlannedEffect
from heat_convergence.stacks.plans.planned_resource import PlannedResource
from heat_convergence.stacks.plans.quota_check import QuotaResult

Json = Any
_MAX_NAMED = 100  # resources that a summary names
_QUOTAS, _RESOURCES = "quotas", "resources"


def build_document(resources: Sequence[PlannedResource], quotas: QuotaResult) -> dict[str, Json]:
    """Return the document that is stored."""
    return {
        _RESOURCES: [_entry(each) for each in resources],
        _QUOTAS: quotas.to_json(),
    }


def build_summary(
    action: PlanAction,
    resources: Sequence[PlannedResource],
    quotas: QuotaResult,
    history: TypeHistory,
) -> dict[str, Json]:
    """Return the counts and verdicts of a plan."""
    counts = Counter(each.effect for each in resources)
    destructive = [each for each in resources if each.is_destructive]
    failing = [each for each in resources if each.fails]
    duration = estimate_duration(map(_step, resources), history)
    return {
        "action": str(action),
        "has_changes": counts[PlannedEffect.UNCHANGED] < len(resources),
        "resource_counts": {str(effect): counts[effect] for effect in PlannedEffect},
        "destructive_count": len(destructive),
        "destructive_resources": [each.path for each in destructive[:_MAX_NAMED]],
        "failing_count": len(failing),
        "failing_resources": [each.path for each in failing[:_MAX_NAMED]],
        "drifted_count": sum(each.drift_status in DRIFTED for each in resources),
        "quota_status": str(quotas.status),
        "estimated_duration_s": None if duration.seconds is None else round(duration.seconds, 1),
        "steps_without_estimate": duration.unknown_count,
    }


def _entry(planned: PlannedResource) -> Mapping[str, Json]:
    """Return the resource as it is stored; of one that does not change, little is."""
    entry: dict[str, Json] = {
        "resource_name": planned.name,
        "resource_type": planned.type,
        "physical_resource_id": planned.physical_id,
        "stack_id": planned.stack_id or None,
        "stack_name": planned.stack_name,
        "path": planned.path,
        "change": str(planned.effect),
        "drift_status": str(planned.drift_status),
    }
    if planned.effect is PlannedEffect.UNCHANGED and not planned.reason:
        return entry
    return entry | {
        "reason": planned.reason,
        "properties": [dict(each) for each in planned.properties],
        "dependents": list(planned.dependents),
        "destructive": planned.is_destructive,
        "fails": planned.fails,
        "sensitive": planned.sensitive,
    }


def _step(planned: PlannedResource) -> PlannedStep:
    return PlannedStep(planned.path, planned.implementation, planned.effect, planned.requires)
