"""The plan of a repair, and what observing the resources adds to the plan of an update.

Called by the API. Joins what a repair would do, as far as the last observations tell, with the
resources of a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_preview import PreviewedRepair, RepairAction
from heat_convergence.convergence.plans.stored_plan import PlannedEffect
from heat_convergence.stacks.plans.planned_resource import PlannedResource

Json = Any
_EFFECTS = {
    RepairAction.RECREATE: PlannedEffect.REPLACE,
    RepairAction.RESTORE: PlannedEffect.UPDATE,
    RepairAction.UPDATE: PlannedEffect.UPDATE,
    RepairAction.OBSERVE: PlannedEffect.UNCHANGED,
    RepairAction.FAIL: PlannedEffect.UPDATE,
    RepairAction.NONE: PlannedEffect.UNCHANGED,
}
_REASONS = {
    DriftStatus.DELETED: "the physical resource is missing",
    DriftStatus.ERROR: "its service reports a failure",
    DriftStatus.MODIFIED: "others have changed it",
}


def with_repairs(
    resources: Iterable[PlannedResource], repairs: Iterable[PreviewedRepair]
) -> Iterator[PlannedResource]:
    """Yield the resources, those that would not change with what a repair does to them."""
    by_place = {(each.resource.stack_id, each.resource.name): each for each in repairs}
    for each in resources:
        repair = by_place.get((each.stack_id, each.name))
        unchanged = each.effect is PlannedEffect.UNCHANGED
        yield _repaired(each, repair) if repair is not None and unchanged else each


def _repaired(planned: PlannedResource, repair: PreviewedRepair) -> PlannedResource:
    status = repair.resource.status
    effect = _EFFECTS[repair.action]
    reason = "; ".join(filter(None, (_REASONS.get(status, ""), repair.reason)))
    missing = status is DriftStatus.DELETED
    return replace(
        planned,
        effect=effect,
        # Nothing is deleted where the physical resource is missing already.
        physical_id="" if missing else planned.physical_id,
        reason=reason,
        after=planned.before if effect is PlannedEffect.REPLACE else {},
        properties=[_property(each) for each in repair.properties],
        sensitive=planned.sensitive or repair.resource.sensitive,
        fails=repair.action is RepairAction.FAIL,
    )


def _property(drifted: Mapping[str, Json]) -> dict[str, Json]:
    """Return a property that a repair restores: the applied value is the desired one."""
    return {
        "property": drifted["property"],
        "desired": drifted["applied"],
        "known": True,
        "applied": drifted["applied"],
        "observed": drifted["observed"],
        "forces_replacement": False,
    }
