"""What an update would do, found out without touching the cloud.

Called by the previews.  Plans exactly as a traversal would and decides for each
resource as an engine would, with what is known now; a value that only the update
will tell counts as changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import TemplateOutputError
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.incarnations import REPLACE_FORBIDDEN
from heat_convergence.convergence.planning.job_steps import ChangeKind, JobStep
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.convergence.planning.step_selection import (
    PropertyChange,
    select_step_before_properties,
    select_update_step,
)
from heat_convergence.resources.protocol import properties as props
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import resolve_partially
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.function import UNKNOWN, Function
from heat_convergence.template.limits import TemplateLimits

Json = Any


_FORBIDDEN = "; the update will fail: the environment restricts it"


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """One resource's fate.  ``row`` is what is there now, ``after`` the properties
    wanted, with expressions where a value is not known yet; ``why`` is for people."""

    name: str
    change_kind: ChangeKind
    current: Resource | None
    definition: ResourceDefinition | None
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    changed_properties: frozenset[str] = frozenset()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PreviewContext:
    """What is there, and what foreseeing takes; ``later``: the template may hang on
    values that are not known yet."""

    stack: Stack
    rows: Sequence[Resource]
    registry: ResourceTypeRegistry
    now: datetime
    ids: IdFactory
    limits: TemplateLimits
    functions: Mapping[str, Function]
    allow_unknown_parameters: bool = False


def preview_changes(
    context: PreviewContext,
    evaluated: EvaluatedTemplate,
    desired_resources: Mapping[str, DesiredResource],
) -> list[ResourceChange]:
    """Every resource of the old and the new goal, in the order of the new graph."""
    at = PlanContext(
        context.stack.id, context.stack.name, context.stack.version + 1, context.now, context.ids
    )
    plan = plan_goal(context.rows, desired_resources, at)
    jobs = {
        row.name: row
        for row in (*plan.added, *plan.changed, *plan.rescheduled)
        if row.desired is DesiredState.PRESENT
    }
    present = {row.name: row for row in context.rows if row.desired is DesiredState.PRESENT}
    oracle = _Oracle(context, present)
    for name in evaluated.graph.topological_order():
        kind = context.registry.get(desired_resources[name].implementation)
        oracle.tell(evaluated.definitions[name], jobs.get(name), kind)
    gone = [row for name, row in sorted(present.items()) if name not in desired_resources]
    return [*oracle.told.values(), *(deletion_of(row) for row in gone)]


class _Oracle:
    """Goes through the graph, requirements first; answers to expressions what will
    still be so then.  ``template.scopes.Inputs``."""

    def __init__(self, now: PreviewContext, present: Mapping[str, Resource]) -> None:
        self.told: dict[str, ResourceChange] = {}
        self._now = now
        self._present = present
        inputs = {name: InputResource.from_resource(row) for name, row in present.items()}
        self._inputs = RowInputs(inputs, now.stack, now.registry, now.now)

    def reference_id(self, resource: str) -> Json:
        if self._fate(resource) in (ChangeKind.REPLACED, ChangeKind.ADDED):
            return UNKNOWN
        return self._inputs.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        if self._fate(resource) is not ChangeKind.UNCHANGED:
            return UNKNOWN
        try:
            return self._inputs.attribute(resource, name, path)
        except TemplateOutputError:
            return UNKNOWN  # who reads it fails; a preview tells of fates, not of that

    def tell(
        self, definition: ResourceDefinition, job: Resource | None, resource_type: ResourceType
    ) -> None:
        """``job`` None where a traversal would leave the resource alone."""
        name = definition.name
        before = self._present.get(name)
        after = self._after(definition, resource_type)
        foreseen = ResourceChange(
            name,
            ChangeKind.UNCHANGED,
            before,
            definition,
            (before.properties or {}) if before else {},
            after,
        )
        if job is not None:
            foreseen = self._changed(foreseen, job, resource_type)
        self.told[name] = foreseen

    def _fate(self, resource: str) -> ChangeKind:
        found = self.told.get(resource)
        return ChangeKind.ADDED if found is None else found.change_kind

    def _after(
        self, definition: ResourceDefinition, resource_type: ResourceType
    ) -> dict[str, Json]:
        given = self._now
        raw = resolve_partially(
            definition.properties,
            self,
            limits=given.limits,
            functions=given.functions,
            allow_unknown_parameters=given.allow_unknown_parameters,
        )
        if not isinstance(raw, Mapping):  # a whole map that is not known yet
            return {}
        known = props.known_properties(resource_type.schema, raw)
        return known | {name: raw[name] for name in raw if not is_known(raw[name])}

    def _changed(
        self, foreseen: ResourceChange, job: Resource, resource_type: ResourceType
    ) -> ResourceChange:
        before = foreseen.current
        if before is None:
            return replace(foreseen, change_kind=ChangeKind.ADDED)
        definition_type = job.type if foreseen.definition is None else foreseen.definition.type
        names = _differing(foreseen.before, foreseen.after)
        barred = REPLACE_FORBIDDEN in job.hooks_and_restrictions
        if job.id != before.id or barred:
            why = _why_new(before, definition_type) + (_FORBIDDEN if barred else "")
            return replace(
                foreseen, change_kind=ChangeKind.REPLACED, changed_properties=names, reason=why
            )
        idle = not job.must_run and all(
            self._fate(name) is ChangeKind.UNCHANGED for name in job.referenced_names
        )
        if idle:
            return foreseen
        step = select_step_before_properties(job) or select_update_step(
            job, _change(foreseen, names, resource_type)
        )
        why = _why(step, names, resource_type)
        if step.traits.restricted_action in job.hooks_and_restrictions:
            why = f"{why}{_FORBIDDEN}" if why else _FORBIDDEN.lstrip(";, ")
        return replace(
            foreseen, change_kind=step.traits.change_kind, changed_properties=names, reason=why
        )


def _change(
    foreseen: ResourceChange, names: frozenset[str], resource_type: ResourceType
) -> PropertyChange:
    return PropertyChange(
        changed_names=names,
        updatable_in_place=resource_type.schema.update_allowed,
        immutable=resource_type.schema.immutable,
        requires_replacement=lambda changed: resource_type.needs_replace(
            foreseen.before,
            {name: value for name, value in foreseen.after.items() if is_known(value)},
            changed,
        ),
    )


def _differing(before: Mapping[str, Json], after: Mapping[str, Json]) -> frozenset[str]:
    open_names = frozenset(name for name, value in after.items() if not is_known(value))
    known = {name: value for name, value in after.items() if name not in open_names}
    rest = {name: value for name, value in before.items() if name not in open_names}
    return props.changed_property_names(rest, known) | open_names


def _why_new(before: Resource, wanted_type: str) -> str:
    if before.type != wanted_type:
        return f"its type changes from {before.type} to {wanted_type}"
    return f"it is in {before.action}_{before.status}"


def _why(step: JobStep, names: frozenset[str], resource_type: ResourceType) -> str:
    if step is JobStep.REJECT:
        listed = ", ".join(sorted(n for n in names if resource_type.schema.immutable(n)))
        return f"the update will fail: {listed} must not be changed"
    if step is JobStep.REPLACE:
        fixed = sorted(name for name in names if not resource_type.schema.update_allowed(name))
        if fixed:
            return f"{', '.join(fixed)} cannot be changed in place"
        return "it cannot be changed in place as it is now"
    return ""


def deletion_of(row: Resource) -> ResourceChange:
    return ResourceChange(
        row.name,
        ChangeKind.DELETED,
        row,
        None,
        row.properties or {},
        {},
        reason="the template does not have it any more",
    )
