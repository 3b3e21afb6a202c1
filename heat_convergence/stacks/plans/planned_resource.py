"""The resources of a plan: what an action does to each one in a whole tree, and why.

Called by ``plan_document`` and by the modules that plan a deletion or a repair. Joins the changes
of a preview with what was observed last; asks nothing of any service.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_preview import RepairableResource
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import ChangeKind, JobStep, has_nested_stack
from heat_convergence.convergence.planning.step_selection import select_removal_step
from heat_convergence.convergence.plans.stored_plan import PlannedEffect
from heat_convergence.stacks.nested_preview import NO_STACK_ID, NestedStackChange
from heat_convergence.stacks.preview import ResourceChange
from heat_convergence.template.expression import is_known, to_template_form

Json = Any
ObservedByPlace = Mapping[tuple[str, str], RepairableResource]
"""The last observations, by id of the stack and name of the resource."""

_EFFECTS = {
    ChangeKind.UNCHANGED: PlannedEffect.UNCHANGED,
    ChangeKind.UPDATED: PlannedEffect.UPDATE,
    ChangeKind.REPLACED: PlannedEffect.REPLACE,
    ChangeKind.ADDED: PlannedEffect.ADD,
    ChangeKind.DELETED: PlannedEffect.DELETE,
}
_REMOVING = frozenset({PlannedEffect.REPLACE, PlannedEffect.DELETE})
_KEPT = "the deletion policy keeps the physical resource"
_UNKNOWN_NESTED = "its nested stack depends on values that only the update will show"
_READ_STATUSES = frozenset({DriftStatus.IN_SYNC, DriftStatus.MODIFIED})


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """The effect of an action on one resource.

    Attributes:
        stack_id: empty for a nested stack that does not exist yet.
        path: the names of the resources above it and its own, joined by ``/``.
        before: the properties that were applied.
        after: the desired properties, with expressions where a value is not known yet.
        properties: the values of each property that differs.
        requires: names of the resources of its stack that it needs.
        dependents: names of those that refer to it or need it, and change, too.
        retained: the physical resource stays when this one is removed.
        fails: the action will fail there.
    """

    stack_id: str
    stack_name: str
    path: str
    name: str
    type: str
    implementation: str
    physical_id: str
    effect: PlannedEffect
    reason: str = ""
    before: Mapping[str, Json] = field(default_factory=dict)
    after: Mapping[str, Json] = field(default_factory=dict)
    properties: Sequence[Mapping[str, Json]] = ()
    requires: frozenset[str] = frozenset()
    dependents: tuple[str, ...] = ()
    drift_status: DriftStatus = DriftStatus.NOT_CHECKED
    sensitive: bool = False
    retained: bool = False
    fails: bool = False

    @property
    def is_destructive(self) -> bool:
        """True if a physical resource is deleted."""
        return self.effect in _REMOVING and bool(self.physical_id) and not self.retained


@dataclass(frozen=True, slots=True)
class PlanSite:
    """The place of a stack in a tree.

    Attributes:
        prefix: the path of the resource that the stack is nested in, and ``/``.
        sensitive: secrets may come to it from the stacks above.
    """

    prefix: str = ""
    sensitive: bool = False


ROOT_SITE = PlanSite()


def planned_from_changes(
    stack: Stack,
    changes: Sequence[ResourceChange],
    nested_changes: Sequence[NestedStackChange],
    observed: ObservedByPlace,
    site: PlanSite = ROOT_SITE,
) -> Iterator[PlannedResource]:
    """Yield the resources of a stack and of its nested stacks, each after what it needs.

    Args:
        stack: the stack.
        changes: those of its resources.
        nested_changes: those in its nested stacks.
        observed: what was observed last.
        site: the place of the stack in the tree.
    """
    secret = {each.name for each in changes if _is_sensitive(each)}
    changing = {
        each.name: each for each in changes if each.change_kind is not ChangeKind.UNCHANGED
    }
    dependents = _dependents(changing)
    nested_by_name: dict[str, list[NestedStackChange]] = {}
    for nested in nested_changes:
        nested_by_name.setdefault(nested.parent_resource, []).append(nested)
    for change in changes:
        nested_stacks = nested_by_name.get(change.name, [])
        found = observed.get((stack.id, change.name))
        planned = _from_change(stack, change, changing, found, site)
        yield _with_relations(planned, dependents.get(change.name, ()), change, nested_stacks)
        for each in nested_stacks:
            yield from planned_from_changes(
                each.stack,
                each.changes,
                each.nested_changes,
                observed,
                PlanSite(f"{site.prefix}{change.name}/", site.sensitive or _reads(change, secret)),
            )


def planned_from_row(
    stack: Stack, row: Resource, path: str, found: RepairableResource | None
) -> PlannedResource:
    """Return an existing resource that no change concerns."""
    return PlannedResource(
        stack.id,
        stack.name,
        path,
        row.name,
        row.identity.type,
        row.desired.implementation,
        row.physical.id or "",
        PlannedEffect.UNCHANGED,
        before=row.physical.properties or {},
        requires=frozenset(row.desired.requires),
        drift_status=found.status if found else DriftStatus.NOT_CHECKED,
        sensitive=row.desired.sensitive,
        retained=keeps_physical(row),
    )


def keeps_physical(row: Resource) -> bool:
    """Return whether the removal of the resource leaves the physical resource alone."""
    return row.physical.id is not None and (select_removal_step(row) is JobStep.ABANDON_PHYSICAL)


def _from_change(
    stack: Stack,
    change: ResourceChange,
    changing: Mapping[str, ResourceChange],
    found: RepairableResource | None,
    site: PlanSite,
) -> PlannedResource:
    row, definition = change.current, change.definition
    effect = _EFFECTS[change.change_kind]
    retained = effect in _REMOVING and row is not None and keeps_physical(row)
    reason = change.reason or _follows_reason(change, changing)
    if retained:
        reason = f"{reason}; {_KEPT}" if reason else _KEPT
    return PlannedResource(
        "" if stack.id == NO_STACK_ID else stack.id,
        stack.name,
        site.prefix + change.name,
        change.name,
        definition.type if definition else row.identity.type if row else "",
        change.implementation,
        (row.physical.id if row else None) or "",
        effect,
        reason,
        change.before,
        change.after,
        [] if effect is PlannedEffect.UNCHANGED else _properties(change, found),
        _requires(change),
        drift_status=found.status if found else DriftStatus.NOT_CHECKED,
        sensitive=site.sensitive or _is_sensitive(change),
        retained=retained,
        fails=change.fails,
    )


def _with_relations(
    planned: PlannedResource,
    dependents: Sequence[str],
    change: ResourceChange,
    nested_stacks: Sequence[NestedStackChange],
) -> PlannedResource:
    """Return the resource with its dependents, and with a word on a nested stack unknown."""
    reason = planned.reason
    changes_nested = planned.effect in (PlannedEffect.UPDATE, PlannedEffect.REPLACE)
    is_nested = change.current is not None and has_nested_stack(change.current)
    if changes_nested and is_nested and not nested_stacks:
        reason = f"{reason}; {_UNKNOWN_NESTED}" if reason else _UNKNOWN_NESTED
    return replace(planned, dependents=tuple(dependents), reason=reason)


def _is_sensitive(change: ResourceChange) -> bool:
    """Return whether the resource's values must not be shown to everybody."""
    of_row = change.current is not None and change.current.desired.sensitive
    return of_row or change.sensitive


def _reads(change: ResourceChange, secret: Collection[str]) -> bool:
    """Return whether secrets may come to the nested stack of the resource."""
    definition = change.definition
    if definition is None:
        return change.current is not None and change.current.desired.sensitive
    return definition.sensitive or not definition.referenced_names.isdisjoint(secret)


def _requires(change: ResourceChange) -> frozenset[str]:
    if change.definition is not None:
        return frozenset(change.definition.requires)
    return (
        frozenset(change.current.desired.requires) if change.current is not None else frozenset()
    )


def _dependents(changing: Mapping[str, ResourceChange]) -> dict[str, list[str]]:
    """Return the names of changing resources that need each one."""
    found: dict[str, list[str]] = {}
    for name, change in changing.items():
        for required in sorted(_requires(change)):
            found.setdefault(required, []).append(name)
    return found


def _follows_reason(change: ResourceChange, changing: Mapping[str, ResourceChange]) -> str:
    """Return which changes this one follows, of an update whose values are not all known."""
    if change.change_kind is not ChangeKind.UPDATED or change.definition is None:
        return ""
    unknown = any(not is_known(change.after.get(name)) for name in change.changed_properties)
    names = sorted(change.definition.referenced_names & changing.keys())
    if not unknown or not names:
        return ""
    return f"it refers to {', '.join(names)}, whose values may change"


def _properties(
    change: ResourceChange, found: RepairableResource | None
) -> list[Mapping[str, Json]]:
    names = change.after if change.change_kind is ChangeKind.ADDED else change.changed_properties
    if change.change_kind is ChangeKind.DELETED:
        return []
    shown: list[Mapping[str, Json]] = []
    drifted = {each["property"]: each["observed"] for each in found.properties} if found else {}
    for name in sorted(names):
        desired = change.after.get(name)
        entry = {
            "property": name,
            "desired": to_template_form(desired),
            "known": is_known(desired),
            "applied": change.before.get(name),
            "forces_replacement": _forces_replacement(change, name),
        }
        if name in drifted:
            entry["observed"] = drifted[name]
        elif found is not None and found.status in _READ_STATUSES:
            entry["observed"] = change.before.get(name)
        shown.append(entry)
    return shown


def _forces_replacement(change: ResourceChange, name: str) -> bool:
    replaced = change.change_kind is ChangeKind.REPLACED
    return replaced and change.schema is not None and not change.schema.update_allowed(name)
