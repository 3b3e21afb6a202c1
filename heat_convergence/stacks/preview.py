"""The changes that an update would make to one stack, found without touching the cloud.

Called by ``nested_preview``.  Plans exactly as a traversal would and decides for each
resource as an engine would, with the values that are known now; a value that only the
update will show counts as changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common.failures import TemplateOutputError
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.incarnations import (
    EXTERNAL_ID_CHANGED,
    REPLACE_FORBIDDEN,
)
from heat_convergence.convergence.planning.job_steps import ChangeKind, JobStep
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.convergence.planning.step_selection import (
    PropertyChange,
    select_step_before_properties,
    select_update_step,
)
from heat_convergence.resources.property_changes import repeated_property_names
from heat_convergence.resources.protocol.properties import (
    changed_property_names,
    keep_properties_without_value,
    known_properties,
)
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.type_schema import TypeSchema
from heat_convergence.stacks.goal.goal_builder import GoalBuilder
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import resolve_partially
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.function import UNKNOWN

Json = Any


_FORBIDDEN = "; the update will fail: the environment restricts it"
_REJECTIONS = frozenset({EXTERNAL_ID_CHANGED, REPLACE_FORBIDDEN})


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The change of one resource.

    Attributes:
        current: the row as it is now, None before there is one.
        definition: the new one, None for a deletion.
        before: the properties as they were applied.
        after: the desired properties, with expressions where a value is not known yet.
        reason: for people; empty where there is nothing to say.
        schema: that of the new definition's type.
        implementation: the type that the environment maps the resource's type to.
        sensitive: its new values may have secrets.
        fails: the environment or the type forbids the change: the update will fail.
    """

    name: str
    change_kind: ChangeKind
    current: Resource | None
    definition: ResourceDefinition | None
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    changed_properties: frozenset[str] = frozenset()
    reason: str = ""
    schema: TypeSchema | None = None
    implementation: str = ""
    sensitive: bool = False
    fails: bool = False


@dataclass(frozen=True, slots=True)
class PreviewContext:
    """The stack as it is, and what planning takes.

    Attributes:
        rows: the stack's resources.
        allow_unknown_parameters: whether the template may depend on values that are not
            known yet, as a nested one's may.
    """

    stack: Stack
    rows: Sequence[Resource]
    goal_builder: GoalBuilder
    now: datetime
    ids: IdFactory
    allow_unknown_parameters: bool = False


def preview_changes(
    context: PreviewContext,
    evaluated: EvaluatedTemplate,
    desired_resources: Mapping[str, DesiredResource],
) -> list[ResourceChange]:
    """Return every resource of the old and the new goal, in the order of the new graph."""
    at = PlanContext.of_next_update(context.stack, context.now, context.ids)
    plan = plan_goal(context.rows, desired_resources, at)
    jobs = {
        row.name: row
        for row in (*plan.added, *plan.changed, *plan.rescheduled)
        if row.desired.state is DesiredState.PRESENT
    }
    present = {row.name: row for row in context.rows if row.desired.state is DesiredState.PRESENT}
    inputs = _PreviewInputs(context, present)
    for name in evaluated.graph.topological_order():
        inputs.add(evaluated.definitions[name], jobs.get(name), desired_resources[name])
    deleted = [row for name, row in sorted(present.items()) if name not in desired_resources]
    return [*inputs.changes.values(), *(deletion_of(row) for row in deleted)]


def deletion_of(row: Resource) -> ResourceChange:
    """Return the change of a resource that the new template does not have."""
    return ResourceChange(
        row.name,
        ChangeKind.DELETED,
        row,
        None,
        row.physical.properties or {},
        {},
        reason="the template does not have it any more",
        implementation=row.desired.implementation,
    )


class _PreviewInputs:
    """The values that expressions read, as far as they survive the update.

    Filled in the order of the graph, requirements first.  ``template.scopes.Inputs``.
    """

    def __init__(self, context: PreviewContext, present: Mapping[str, Resource]) -> None:
        self.changes: dict[str, ResourceChange] = {}
        self._context = context
        self._present = present
        inputs = {name: InputResource.from_resource(row) for name, row in present.items()}
        registry = context.goal_builder.services.registry
        self._inputs = RowInputs(inputs, context.stack, registry, context.now)

    def reference_id(self, resource: str) -> Json:
        """Return the reference id, or UNKNOWN if the resource is to be created or replaced."""
        if self._change_kind(resource) in (ChangeKind.REPLACED, ChangeKind.ADDED):
            return UNKNOWN
        return self._inputs.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """Return an attribute, or UNKNOWN if the resource is to change or it cannot be read."""
        if self._change_kind(resource) is not ChangeKind.UNCHANGED:
            return UNKNOWN
        try:
            return self._inputs.attribute(resource, name, path)
        except TemplateOutputError:
            return UNKNOWN  # its reader will fail; a preview shows changes, not failures

    def add(
        self, definition: ResourceDefinition, job: Resource | None, desired: DesiredResource
    ) -> None:
        """Add the change of a resource; ``job`` None where a traversal would skip it."""
        registry = self._context.goal_builder.services.registry
        resource_type = registry.get(desired.implementation)
        current = self._present.get(definition.name)
        change = ResourceChange(
            definition.name,
            ChangeKind.UNCHANGED,
            current,
            definition,
            (current.physical.properties or {}) if current else {},
            self._desired_properties(definition, resource_type),
            schema=resource_type.schema,
            implementation=desired.implementation,
            sensitive=desired.sensitive,
        )
        if job is not None:
            change = self._with_job(change, job, resource_type)
        self.changes[definition.name] = change

    def _change_kind(self, resource: str) -> ChangeKind:
        found = self.changes.get(resource)
        return ChangeKind.ADDED if found is None else found.change_kind

    def _desired_properties(
        self, definition: ResourceDefinition, resource_type: ResourceType
    ) -> dict[str, Json]:
        raw = self._resolved(definition.properties)
        if not isinstance(raw, Mapping):  # a whole map that is not known yet
            return {}
        known = known_properties(resource_type.schema, raw)
        current = self._present.get(definition.name)
        if current is not None and current.physical.properties is not None:
            known = keep_properties_without_value(
                resource_type.schema,
                {name: value for name, value in raw.items() if is_known(value)},
                current.physical.properties,
                known,
            )
        return known | {name: raw[name] for name in raw if not is_known(raw[name])}

    def _metadata(self, definition: ResourceDefinition | None) -> Mapping[str, Json]:
        found = {} if definition is None else self._resolved(definition.metadata)
        return found if isinstance(found, Mapping) else {}

    def _resolved(self, section: Json) -> Json:
        builder, allow_unknown = self._context.goal_builder, self._context.allow_unknown_parameters
        return resolve_partially(
            section,
            self,
            limits=builder.services.limits,
            functions=builder.preview_functions if allow_unknown else builder.services.functions,
            allow_unknown_parameters=allow_unknown,
        )

    def _with_job(
        self, change: ResourceChange, job: Resource, resource_type: ResourceType
    ) -> ResourceChange:
        """Return the change of a resource that the plan gives a job."""
        current = change.current
        if current is None:
            return replace(change, change_kind=ChangeKind.ADDED)
        new_type = job.identity.type if change.definition is None else change.definition.type
        names = _changed_names(change.before, change.after)
        forbidden = not _REJECTIONS.isdisjoint(job.desired.hooks_and_restrictions)
        if job.id != current.id or forbidden:
            reason = _new_incarnation_reason(current, new_type, resource_type)
            return replace(
                change,
                change_kind=ChangeKind.REPLACED,
                changed_properties=names,
                reason=reason + (_FORBIDDEN if forbidden else ""),
                fails=forbidden,
            )
        idle = not job.job.must_run and all(
            self._change_kind(name) is ChangeKind.UNCHANGED
            for name in job.desired.referenced_names
        )
        if idle:
            return change
        metadata = partial(self._metadata, change.definition)
        again = repeated_property_names(job, resource_type, change.after, metadata, updating=True)
        step = select_step_before_properties(job) or select_update_step(
            job, _property_change(change, names, again, resource_type)
        )
        reason = _step_reason(step, names, again, resource_type)
        restricted = step.traits.restricted_action in job.desired.hooks_and_restrictions
        if restricted:
            reason = f"{reason}{_FORBIDDEN}" if reason else _FORBIDDEN.lstrip(";, ")
        return replace(
            change,
            change_kind=step.traits.change_kind,
            changed_properties=names,
            reason=reason,
            fails=restricted or step is JobStep.REJECT,
        )


def _property_change(
    change: ResourceChange,
    names: frozenset[str],
    again: frozenset[str],
    resource_type: ResourceType,
) -> PropertyChange:
    known = {name: value for name, value in change.after.items() if is_known(value)}
    return PropertyChange(
        changed_names=names | again,
        updatable_in_place=resource_type.schema.update_allowed,
        immutable=resource_type.schema.immutable,
        # What is merely set again takes no new incarnation.
        requires_replacement=lambda _changed: resource_type.needs_replace(
            change.before, known, names
        ),
    )


def _changed_names(before: Mapping[str, Json], after: Mapping[str, Json]) -> frozenset[str]:
    unknown = frozenset(name for name, value in after.items() if not is_known(value))
    known = {name: value for name, value in after.items() if name not in unknown}
    rest = {name: value for name, value in before.items() if name not in unknown}
    return changed_property_names(rest, known) | unknown


def _new_incarnation_reason(current: Resource, new_type: str, resource_type: ResourceType) -> str:
    if current.identity.type != new_type:
        return f"its type changes from {current.identity.type} to {new_type}"
    if resource_type.replace_on_update:
        return "every update replaces it"
    return f"it is in {current.state.action}_{current.state.status}"


def _step_reason(
    step: JobStep, names: frozenset[str], again: frozenset[str], resource_type: ResourceType
) -> str:
    if step is JobStep.UPDATE and again and not names:
        return f"the update sets {', '.join(sorted(again))} again"
    if step is JobStep.REJECT:
        listed = ", ".join(sorted(n for n in names if resource_type.schema.immutable(n)))
        return f"the update will fail: {listed} must not be changed"
    if step is JobStep.REPLACE:
        fixed = sorted(name for name in names if not resource_type.schema.update_allowed(name))
        if fixed:
            return f"{', '.join(fixed)} cannot be changed in place"
        return "it cannot be changed in place as it is now"
    return ""
