"""Which incarnation serves each name of a goal, and with what job.

Called by ``plan`` under the stack's lock: goes on with a row that may serve, or takes a
new one.  Reads nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from heat_convergence.common.ids import short_suffix
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.planning.desired_state import (
    UPDATE_REPAIRS_FAILURE,
    DesiredResource,
    PlanContext,
    StateSource,
    has_update_hook,
)
from heat_convergence.graph.graph import Graph
from heat_convergence.template.environment.resource_registry import is_template_name
from heat_convergence.template.evaluation.resource_definition import ADOPTED_PROPERTIES

REPLACE_FORBIDDEN = "barred"
"""Among a row's guards: only a new incarnation would do, which the user forbids."""
_REPLACE = "replace"  # the restricted action

REPLACED_WHEN_FAILED = frozenset(
    {Action.CREATE, Action.UPDATE, Action.CHECK, Action.ADOPT, Action.ROLLBACK}
)


def choose_incarnations(
    rows: Sequence[Resource],
    desired_resources: Mapping[str, DesiredResource],
    plan_context: PlanContext,
) -> dict[str, Resource]:
    """Name → the row that is to serve it, with a job unless it may stay as it is."""
    by_name: dict[str, list[Resource]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    chosen: dict[str, Resource] = {}
    dirty: set[str] = set()
    switched: set[str] = set()  # another incarnation than the one that served before
    for name in _requirements_first(desired_resources):
        want = desired_resources[name]
        drawn_dirty = not dirty.isdisjoint(want.referenced_names)
        renewed = want.replace_on_update and plan_context.action is Action.UPDATE
        current = None if renewed else _incarnation(by_name.get(name, ()), want, drawn_dirty)
        barred = _barred(by_name.get(name, ()), want) if current is None else None
        if barred is not None:
            chosen[name] = _refusing(barred, want, plan_context)
        elif current is None:
            chosen[name] = _new_row(want, by_name.get(name, ()), plan_context)
        elif drawn_dirty or _runs(want, plan_context) or not _settled(current, want):
            must_run = _runs(want, plan_context) or not switched.isdisjoint(want.referenced_names)
            chosen[name] = _continued(current, want, plan_context, must_run=must_run)
        else:
            chosen[name] = current
            continue
        dirty.add(name)
        if current is not None and current.desired is not DesiredState.PRESENT:
            switched.add(name)
    return chosen


def _requirements_first(wanted: Mapping[str, DesiredResource]) -> Sequence[str]:
    return Graph.from_requirements(
        {name: want.requires & wanted.keys() for name, want in wanted.items()}
    ).topological_order()


def _incarnation(
    rows: Iterable[Resource], want: DesiredResource, drawn_dirty: bool
) -> Resource | None:
    """The row that can go on serving the name, or None when it takes a new one."""
    usable = [row for row in rows if _usable(row, want, drawn_dirty)]
    for row in usable:
        if row.applied_hash == want.definition_hash and row.status is not Status.FAILED:
            return row
    for row in usable:
        if row.desired is DesiredState.PRESENT:
            return row
    return usable[-1] if usable else None


def _barred(rows: Iterable[Resource], want: DesiredResource) -> Resource | None:
    """The row that stays as it is because the user forbids its replacement."""
    if _REPLACE not in want.hooks_and_restrictions:
        return None
    found = (row for row in rows if row.desired is DesiredState.PRESENT)
    return next((row for row in found if row.physical_id and _done(row)), None)


def _done(row: Resource) -> bool:
    return row.status is not Status.IN_PROGRESS and row.action is not Action.DELETE


def _refusing(row: Resource, want: DesiredResource, at: PlanContext) -> Resource:
    """The row with a job that fails, and with the definition that reality has."""
    planned = with_job(row, row.definition, at, verb=Verb.CONVERGE, must_run=True)
    return replace(
        planned,
        hooks_and_restrictions=(*want.hooks_and_restrictions, REPLACE_FORBIDDEN),
        replaced_by=None,
    )


def _usable(row: Resource, want: DesiredResource, drawn_dirty: bool) -> bool:
    same_kind = row.implementation == want.implementation or _stacks_both(row, want)
    if row.type != want.type or not same_kind or row.action is Action.DELETE:
        return False
    if want.has_nested_stack:
        return not _marked_ill(row)  # its members decide what becomes of them
    if row.definition.get("external_id") != want.definition.get("external_id"):
        return False  # ours and another's are never the same incarnation
    if row.status is Status.FAILED and row.physical_id is not None:
        return not (is_replaced_when_failed(row) or _not_woken(row))
    making = row.action is Action.CREATE and row.status is Status.IN_PROGRESS
    unknown = row.physical_id is None and row.action is not Action.INIT
    if making or unknown:
        # What is being made, or may be found later, was begun with other values: it
        # may never come up, and it can't be changed until it does.
        return row.definition_hash == want.definition_hash and not drawn_dirty
    return True


def _not_woken(row: Resource) -> bool:
    """Whether a goal, not a RESUME, has tried to resume it in vain: it may never come up."""
    return row.resuming and UPDATE_REPAIRS_FAILURE not in row.definition


def is_replaced_when_failed(row: Resource) -> bool:
    """Whether a failure of its last action condemns it, whatever reality is like."""
    mended = UPDATE_REPAIRS_FAILURE in row.definition and row.action is not Action.CHECK
    return row.action in REPLACED_WHEN_FAILED and not mended


def _stacks_both(row: Resource, want: DesiredResource) -> bool:
    """Another template behind the same type is an update of the stack there."""
    return (
        want.has_nested_stack
        and is_template_name(want.implementation)
        and is_template_name(row.implementation)
    )


def _marked_ill(row: Resource) -> bool:
    """CHECK_FAILED by a user's word; by a check, its job stands there halted."""
    failed = row.action is Action.CHECK and row.status is Status.FAILED
    return failed and row.job is None


def _settled(row: Resource, want: DesiredResource) -> bool:
    return (
        row.job is None
        and row.job_state is None  # a state without a job is nobody's doing; a job clears it
        and row.desired is DesiredState.PRESENT
        and row.status is Status.COMPLETE
        and row.action is not Action.INIT
        and not row.suspended
        and not (want.has_nested_stack and row.properties_hash is None)  # it has failed by itself
        and row.applied_hash == want.definition_hash
        and set(_lasting(row)) == set(want.hooks_and_restrictions)
    )


def _runs(want: DesiredResource, at: PlanContext) -> bool:
    """Whether the traversal comes to it, changed or not."""
    stops = at.action is Action.UPDATE and has_update_hook(want.hooks_and_restrictions)
    return stops or at.state_source is StateSource.OBSERVED


def _new_row(want: DesiredResource, before: Sequence[Resource], at: PlanContext) -> Resource:
    identifier = at.ids()
    current = [row for row in before if row.desired is DesiredState.PRESENT]
    return Resource(
        id=identifier,
        stack_id=at.stack_id,
        name=want.name,
        type=want.type,
        implementation=want.implementation,
        version=at.version,
        desired=DesiredState.PRESENT,
        definition=want.definition,
        definition_hash=want.definition_hash,
        physical_name=physical_name(at.stack_name, want.name, identifier),
        created_at=at.now,
        requires=tuple(sorted(want.requires)),
        referenced_names=tuple(sorted(want.referenced_names)),
        sensitive=want.sensitive,
        hooks_and_restrictions=want.hooks_and_restrictions,
        job=Verb.CONVERGE,
        replaces=current[0].id if current else None,
        project_id=at.project_id,
        root_id=at.root_id,
    )


def _continued(
    row: Resource, want: DesiredResource, at: PlanContext, *, must_run: bool
) -> Resource:
    own_change = row.job is not None or not _settled(row, want)
    definition = want.definition
    if awaits_adoption(row) and row.definition_hash != want.definition_hash:
        # It is adopted as what it was handed over as, and then changed.
        as_handed = row.definition.get(ADOPTED_PROPERTIES, row.definition.get("properties") or {})
        definition = {**definition, ADOPTED_PROPERTIES: as_handed}
    planned = with_job(row, definition, at, verb=Verb.CONVERGE, must_run=own_change or must_run)
    return replace(
        planned,
        desired=DesiredState.PRESENT,
        definition_hash=want.definition_hash,
        implementation=want.implementation,
        requires=tuple(sorted(want.requires)),
        referenced_names=tuple(sorted(want.referenced_names)),
        # What was secret stays sealed: its old values may still be in the row.
        sensitive=want.sensitive or row.sensitive,
        hooks_and_restrictions=want.hooks_and_restrictions,
        replaced_by=None,
        # Until a job has seen it in its place, no later goal takes it for done either.
        applied_hash=None if at.state_source is StateSource.OBSERVED else row.applied_hash,
    )


def awaits_adoption(row: Resource) -> bool:
    """Whether it came with a physical id, or a stack behind it, and has not been looked
    at since."""
    unseen = row.physical_id is not None and row.properties is None
    return row.awaits_stack_adoption or (unseen and row.action in (Action.INIT, Action.ADOPT))


def with_job(
    row: Resource,
    definition: Mapping[str, Json],
    plan_context: PlanContext,
    *,
    verb: Verb,
    must_run: bool,
) -> Resource:
    """The row with a job of this traversal; what was under way elsewhere is void."""
    return replace(
        row,
        version=plan_context.version,
        definition=definition,
        job=verb,
        hook=None,
        must_run=must_run,
        hooks_and_restrictions=_lasting(row),
        posted_at=None,
        observed=None,
        observe_at=None,
    )


def _lasting(row: Resource) -> tuple[str, ...]:
    """Its guards that outlast a traversal: who steps does not do so in the next."""
    return tuple(guard for guard in row.hooks_and_restrictions if guard != SINGLE_STEP)


def physical_name(stack_name: str, resource_name: str, identifier: str) -> str:
    """``<stack>-<resource>-<12 characters>``, cut to 255 in the middle part."""
    tail = short_suffix(identifier)
    head = f"{stack_name}-{resource_name}"
    return f"{head[: 255 - len(tail) - 1]}-{tail}"
