"""The choice of the incarnation that serves each name of a goal, and of its job.

Called by ``plan`` under the stack's lock: goes on with a row that may serve, or makes a
new one.  Must read nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from heat_convergence.common.ids import short_suffix
from heat_convergence.convergence.drift.policy import is_mark
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import (
    RELEASES_EARLY,
    SINGLE_STEP,
    DesiredDefinition,
    Resource,
    ResourceIdentity,
    ResourceJob,
)
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.convergence.planning.desired_state import (
    UPDATE_REPAIRS_FAILURE,
    DesiredResource,
    PlanContext,
    has_update_hook,
)
from heat_convergence.graph.graph import Graph
from heat_convergence.template.environment.further_names import is_same_type
from heat_convergence.template.environment.readiness import demands_health
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.evaluation.resource_definition import ADOPTED_PROPERTIES

REPLACE_FORBIDDEN = "barred"
EXTERNAL_ID_CHANGED = "external_id changed"
"""Among a row's hooks: it takes a new incarnation, which the environment restricts."""
_REPLACE = "replace"  # the restricted action

REPLACED_WHEN_FAILED = frozenset(
    {Action.CREATE, Action.UPDATE, Action.CHECK, Action.ADOPT, Action.ROLLBACK}
)
"""Actions after whose failure a resource is replaced, unless an update repairs it."""


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Changes of the resources that a resource refers to.

    Attributes:
        change: a job of the traversal may change one of them.
        superseded_ids: ids of their rows that do not serve the goal.
    """

    change: bool
    superseded_ids: frozenset[str]

    def differ_for(self, row: Resource) -> bool:
        """Return whether the row was started with other inputs than the goal has."""
        return self.change or not self.superseded_ids.isdisjoint(row.physical.dependencies)


def choose_incarnations(
    rows: Sequence[Resource],
    desired_resources: Mapping[str, DesiredResource],
    plan_context: PlanContext,
) -> dict[str, Resource]:
    """Choose the row that serves each name of the goal.

    Returns:
        Name → row, with a job unless the row may stay as it is.
    """
    by_name: dict[str, list[Resource]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    chosen: dict[str, Resource] = {}
    changing: set[str] = set()
    switched: set[str] = set()  # served by another incarnation than before
    for name in _requirements_first(desired_resources):
        desired, incarnations = desired_resources[name], by_name.get(name, ())
        inputs_change = not changing.isdisjoint(desired.referenced_names)
        forced = desired.replace_on_update and plan_context.action is Action.UPDATE
        inputs = _Inputs(inputs_change, _superseded_inputs(desired, by_name, chosen))
        current = None if forced else _find_usable(incarnations, desired, inputs)
        rejected = None if current else _rejected_update(incarnations, desired, plan_context)
        if rejected is not None:
            chosen[name] = rejected
        elif current is None:
            chosen[name] = new_row(desired, incarnations, plan_context, plan_context.ids())
        elif (
            inputs_change
            or _always_runs(desired, plan_context)
            or not is_at_goal(current, desired)
        ):
            must_run = _always_runs(desired, plan_context) or not switched.isdisjoint(
                desired.referenced_names
            )
            chosen[name] = _continued(current, desired, plan_context, must_run=must_run)
        else:
            chosen[name] = current
            continue
        changing.add(name)
        if current is not None and current.desired.state is not DesiredState.PRESENT:
            switched.add(name)
    return chosen


def _requirements_first(desired_resources: Mapping[str, DesiredResource]) -> Sequence[str]:
    return Graph.from_requirements(
        {
            name: desired.requires & desired_resources.keys()
            for name, desired in desired_resources.items()
        }
    ).topological_order()


def _superseded_inputs(
    desired: DesiredResource,
    by_name: Mapping[str, Sequence[Resource]],
    chosen: Mapping[str, Resource],
) -> frozenset[str]:
    """Return the ids of the rows, of what the resource refers to, that do not serve the goal."""
    return frozenset(
        row.id
        for name in desired.referenced_names
        for row in by_name.get(name, ())
        if name not in chosen or chosen[name].id != row.id
    )


def _find_usable(
    rows: Iterable[Resource], desired: DesiredResource, inputs: _Inputs
) -> Resource | None:
    """Return the row that can go on serving the name, or None if it takes a new one."""
    usable = [row for row in rows if _is_usable(row, desired, inputs)]
    for row in usable:
        if (
            row.physical.applied_hash == desired.definition_hash
            and row.state.status is not Status.FAILED
        ):
            return row
    for row in usable:
        if row.desired.state is DesiredState.PRESENT:
            return row
    return usable[-1] if usable else None


def _rejected_update(
    rows: Iterable[Resource], desired: DesiredResource, plan_context: PlanContext
) -> Resource | None:
    """Return the row that must not be replaced with a job that fails, None without one."""
    present = (row for row in rows if row.desired.state is DesiredState.PRESENT)
    row = next((row for row in present if row.physical.id and _is_idle(row)), None)
    if row is None:
        return None
    if _REPLACE in desired.hooks_and_restrictions:
        return _with_rejection(row, desired, plan_context, REPLACE_FORBIDDEN)
    is_healthy = row.state.status is Status.COMPLETE and row.identity.type == desired.type
    if is_healthy and _external_id_changes(row, desired) and not desired.replace_on_update:
        return _with_rejection(row, desired, plan_context, EXTERNAL_ID_CHANGED)
    return None


def _external_id_changes(row: Resource, desired: DesiredResource) -> bool:
    before = row.desired.definition.get("external_id")
    return bool(before != desired.definition.get("external_id"))


def _is_idle(row: Resource) -> bool:
    return row.state.status is not Status.IN_PROGRESS and row.state.action is not Action.DELETE


def _with_rejection(
    row: Resource, desired: DesiredResource, plan_context: PlanContext, reason: str
) -> Resource:
    """Return the row with a job that fails, and with the definition that it has."""
    planned = with_job(
        row, row.desired.definition, plan_context, verb=Verb.CONVERGE, must_run=True
    )
    return with_columns(
        planned,
        hooks_and_restrictions=(*desired.hooks_and_restrictions, reason),
        replaced_by=None,
    )


def _is_usable(row: Resource, desired: DesiredResource, inputs: _Inputs) -> bool:
    same_type = is_same_type(row.desired.implementation, desired.implementation)
    if row.state.action is Action.DELETE:
        return False
    if not same_type and not _both_templates(row, desired):
        return False
    if desired.has_nested_stack:
        return not _is_marked_unhealthy(row)  # the nested stack decides about its members
    if _external_id_changes(row, desired):
        return False  # managed and external resources are never the same incarnation
    if row.state.status is Status.FAILED and row.physical.id is not None:
        return not (is_replaced_when_failed(row) or _failed_to_resume(row))
    creating = row.state.action is Action.CREATE and row.state.status is Status.IN_PROGRESS
    unknown = row.physical.id is None and row.state.action is not Action.INIT
    if creating or unknown:
        # What is being created, or may be found later, was started with other values: it
        # may never be ready, and it cannot be changed until it is.
        unchanged = row.desired.definition_hash == desired.definition_hash
        return unchanged and not inputs.differ_for(row)
    return True


def _failed_to_resume(row: Resource) -> bool:
    """Return whether a goal, not a RESUME, failed to resume it: it may never be ready."""
    return row.resuming and UPDATE_REPAIRS_FAILURE not in row.desired.definition


def is_replaced_when_failed(row: Resource) -> bool:
    """Return whether a failure of its last action leads to a new incarnation."""
    repaired = (
        UPDATE_REPAIRS_FAILURE in row.desired.definition and row.state.action is not Action.CHECK
    )
    return row.state.action in REPLACED_WHEN_FAILED and not repaired


def _both_templates(row: Resource, desired: DesiredResource) -> bool:
    """Return whether the type maps to another template: an update of the nested stack."""
    return (
        desired.has_nested_stack
        and is_template_name(desired.implementation)
        and is_template_name(row.desired.implementation)
    )


def _is_marked_unhealthy(row: Resource) -> bool:
    """Return whether a user marked it unhealthy; after a failed check it has a job."""
    failed = row.state.action is Action.CHECK and row.state.status is Status.FAILED
    return failed and row.job.verb is None


def is_settled(row: Resource) -> bool:
    """Return whether a wanted resource is healthy and nothing is to be done with it."""
    return (
        row.job.verb is None
        and row.job.state is None  # a contradiction between rows; a new job clears it
        and row.desired.state is DesiredState.PRESENT
        and row.state.status is Status.COMPLETE
        and row.state.action is not Action.INIT
        and not row.physical.suspended
    )


def is_at_goal(row: Resource, desired: DesiredResource) -> bool:
    """Return whether the row is at rest and has what the goal wants, as far as rows say."""
    return (
        is_settled(row)
        # None: the nested stack has failed without a request of this one.
        and not (desired.has_nested_stack and row.physical.properties_hash is None)
        and row.physical.applied_hash == desired.definition_hash
        and set(lasting_hooks(row)) == set(desired.hooks_and_restrictions)
    )


def _always_runs(desired: DesiredResource, plan_context: PlanContext) -> bool:
    """Return whether the traversal has a job for it, changed or not."""
    updating = plan_context.action is Action.UPDATE
    # A repair of some resources does not stop at the others.
    concerned = plan_context.observed_names is None or desired.name in plan_context.observed_names
    stops = has_update_hook(desired.hooks_and_restrictions)
    runs = updating and concerned and (stops or desired.runs_on_update)
    return runs or plan_context.observes(desired)


def new_row(
    desired: DesiredResource,
    incarnations: Sequence[Resource],
    plan_context: PlanContext,
    identifier: str,
) -> Resource:
    """Return a new incarnation with a job.

    Args:
        desired: what the goal wants of it.
        incarnations: those of the same name that there are.
        plan_context: the stack, the version and the time.
        identifier: the id of the row.
    """
    current = [row for row in incarnations if row.desired.state is DesiredState.PRESENT]
    return Resource(
        ResourceIdentity(
            id=identifier,
            stack_id=plan_context.stack_id,
            name=desired.name,
            type=desired.type,
            physical_name=physical_name(plan_context.stack_name, desired.name, identifier),
            created_at=plan_context.now,
            project_id=plan_context.project_id,
            root_id=plan_context.root_id,
            replaces=current[0].id if current else None,
        ),
        definition_of(desired),
        ResourceJob(plan_context.version, Verb.CONVERGE),
    )


def definition_of(desired: DesiredResource) -> DesiredDefinition:
    """Return the part of a goal that a row which serves it has."""
    return DesiredDefinition(
        state=DesiredState.PRESENT,
        implementation=desired.implementation,
        definition=desired.definition,
        definition_hash=desired.definition_hash,
        requires=tuple(sorted(desired.requires)),
        referenced_names=tuple(sorted(desired.referenced_names)),
        sensitive=desired.sensitive,
        hooks_and_restrictions=desired.hooks_and_restrictions,
    )


def _continued(
    row: Resource, desired: DesiredResource, plan_context: PlanContext, *, must_run: bool
) -> Resource:
    own_change = row.job.verb is not None or not is_at_goal(row, desired)
    definition = desired.definition
    if awaits_adoption(row) and row.desired.definition_hash != desired.definition_hash:
        # It is adopted with the properties of its document, and changed after that.
        adopted = row.desired.definition.get(
            ADOPTED_PROPERTIES, row.desired.definition.get("properties") or {}
        )
        definition = {**definition, ADOPTED_PROPERTIES: adopted}
    planned = with_job(
        row, definition, plan_context, verb=Verb.CONVERGE, must_run=own_change or must_run
    )
    newly_healthy = demands_health(desired.hooks_and_restrictions) and not demands_health(
        row.desired.hooks_and_restrictions
    )
    observing = plan_context.observes(desired) or newly_healthy
    # Resources of the nested stack act although nothing has changed.
    repeating = desired.has_nested_stack and desired.runs_on_update
    return replace(
        planned,
        # Another name of the same implementation is no other resource.
        identity=replace(planned.identity, type=desired.type, replaced_by=None),
        desired=replace(
            definition_of(desired),
            definition=definition,
            # Once sensitive, always so: its old values may still be in the row.
            sensitive=desired.sensitive or row.desired.sensitive,
        ),
        # Until a job has observed it, no later goal assumes that it is applied, either.
        physical=replace(planned.physical, applied_hash=None)
        if observing or repeating
        else planned.physical,
    )


def awaits_adoption(row: Resource) -> bool:
    """Return whether it is to be adopted and has not been observed since."""
    unobserved = row.physical.id is not None and row.physical.properties is None
    return row.physical.awaits_stack_adoption or (
        unobserved and row.state.action in (Action.INIT, Action.ADOPT)
    )


def with_job(
    row: Resource,
    definition: Mapping[str, Json],
    plan_context: PlanContext,
    *,
    verb: Verb,
    must_run: bool,
) -> Resource:
    """Return the row with a job of this traversal; ``set_job_states`` sets its state."""
    return with_columns(
        row,
        version=plan_context.version,
        definition=definition,
        job=verb,
        must_run=must_run,
        hooks_and_restrictions=lasting_hooks(row),
    )


def lasting_hooks(row: Resource) -> tuple[str, ...]:
    """Return its hooks and restrictions that outlast a traversal."""
    words = row.desired.hooks_and_restrictions
    marks = (SINGLE_STEP, RELEASES_EARLY)
    return tuple(each for each in words if each not in marks and not is_mark(each))


def physical_name(stack_name: str, resource_name: str, identifier: str) -> str:
    """Return ``<stack>-<resource>-<12 characters>``, cut to 255 in the middle part."""
    suffix = short_suffix(identifier)
    prefix = f"{stack_name}-{resource_name}"
    return f"{prefix[: 255 - len(suffix) - 1]}-{suffix}"
