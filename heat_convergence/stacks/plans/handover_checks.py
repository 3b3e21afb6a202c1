"""The checks of a plan that hands resources over: nothing in the cloud may change.

Called by the API for imports, moves and renames.  Decides which resources cannot get another
place, and refuses goals that change more than places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    NESTED_STACK_KEY,
    SOURCE_DIGEST_KEY,
    DesiredResource,
)
from heat_convergence.convergence.planning.handover import ResourceMove
from heat_convergence.convergence.planning.job_steps import has_nested_stack
from heat_convergence.convergence.plans.stored_plan import PlanAction, PlannedEffect
from heat_convergence.resources.protocol.resource_context import build_context
from heat_convergence.resources.reference_scope import PROPERTIES, USER_ID, Reach
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.plans.planned_resource import PlannedResource

_MAX_NAMED = 10
_BOUND = {Reach.OWN_GROUP, Reach.OWN_HANDLE, Reach.TREE_USER, Reach.IN_STACK}
_NESTED = "it has a nested stack, which is known by its name"
_USER = "a user of the stack is bound to it"


def require_at_rest(stack: Stack, action: PlanAction) -> None:
    """Require a root stack at rest.

    Raises:
        ActionInProgress: an action is under way.
        NotSupported: the stack is nested, failed or suspended.
    """
    if stack.in_progress:
        raise errors.ActionInProgress(stack.name, str(stack.action))
    what = f"A plan to {action} for stack {stack.name} is not supported"
    if stack.owner_id is not None:
        raise errors.NotSupported(f"{what}: it is nested in another stack.")
    if stack.status is not Status.COMPLETE or stack.action in (Action.SUSPEND, Action.DELETE):
        raise errors.NotSupported(f"{what}: it is in {stack.action}_{stack.status}.")


def require_movable(
    stack: Stack,
    rows: Iterable[Resource],
    moves: Sequence[ResourceMove],
    registry: ResourceTypeRegistry,
    now: datetime,
) -> None:
    """Require that the resources exist and can get another place.

    Raises:
        ResourceNotFound: the stack has no resource of a name.
        HTTPBadRequest: a resource cannot be moved; the reasons of all are named.
    """
    by_name = {row.name: row for row in rows if row.desired.state is DesiredState.PRESENT}
    for each in moves:
        if each.source_name not in by_name:
            raise errors.ResourceNotFound(each.source_name, stack.name)
    found = {
        each.source_name: _obstacle(stack, by_name[each.source_name], registry, now)
        for each in moves
    }
    refused = [f"{name}: {reason}" for name, reason in sorted(found.items()) if reason]
    if refused:
        raise errors.HTTPBadRequest(f"Resources cannot be moved or renamed: {_joined(refused)}")


def _obstacle(stack: Stack, row: Resource, registry: ResourceTypeRegistry, now: datetime) -> str:
    """Return why the resource cannot get another place; empty if it can."""
    if has_nested_stack(row):
        return _NESTED
    bound = [
        name
        for key, reach in PROPERTIES.items()
        for type_name, _, name in [key.rpartition(".")]
        if type_name == row.desired.implementation and reach in _BOUND
    ]
    if bound:
        return f"its property {bound[0]} refers to a resource of the same stack"
    resource_type = registry.find(row.desired.implementation)
    reason = "its type is not available"
    if resource_type is not None:
        reason = resource_type.handover_obstacle(build_context(row, stack, Action.UPDATE, now))
    return reason or (_USER if USER_ID in row.physical.data else "")


def as_unchanged(
    resources: Iterable[PlannedResource],
    rows: Iterable[Resource],
    desired_resources: Mapping[str, DesiredResource],
) -> Iterator[PlannedResource]:
    """Yield the resources, those of which only a reference is written differently unchanged.

    A nested or remote stack with the same template, files and parameters stays as it is.
    """
    by_place = {(row.stack_id, row.name): row for row in rows}
    for each in resources:
        row = by_place.get((each.stack_id, each.name))
        desired = desired_resources.get(each.name)
        same = (
            row is not None
            and desired is not None
            and each.path == each.name
            and each.effect is PlannedEffect.UPDATE
            and not each.properties
            and _has_same_content(row.desired.definition, desired.definition)
        )
        yield replace(each, effect=PlannedEffect.UNCHANGED, reason="") if same else each


def _has_same_content(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a definition has a stack, and its content is the same as before."""
    keys = {NESTED_STACK_KEY, SOURCE_DIGEST_KEY} & before.keys()
    return bool(keys) and all(before[key] == after.get(key) for key in keys)


def require_unchanged(action: PlanAction, resources: Iterable[PlannedResource]) -> None:
    """Require that the goals change no resource.

    Raises:
        HTTPBadRequest: they do; the resources are named with what would happen to them.
    """
    found = [_describe(each) for each in resources if each.effect is not PlannedEffect.UNCHANGED]
    if found:
        raise errors.HTTPBadRequest(
            f"A plan to {action} leaves all resources as they are, but the template would change"
            f" {_joined(found)}. Update the stack before or afterwards."
        )


def require_settled(action: PlanAction, stack: Stack, names: Sequence[str]) -> None:
    """Require that no resource of a goal has anything to do.

    Raises:
        HTTPBadRequest: some have, because they failed before, have hooks or lack a change.
    """
    if names:
        raise errors.HTTPBadRequest(
            f"A plan to {action} leaves all resources as they are, but an update of stack"
            f" {stack.name} would act on {_joined(names)}: they have hooks, have failed, are"
            " marked unhealthy or lack a change of an update that did not end. Update the stack"
            " before."
        )


def _describe(planned: PlannedResource) -> str:
    changed = () if planned.effect is PlannedEffect.ADD else planned.properties
    names = ", ".join(str(each["property"]) for each in changed)
    place = f"{planned.stack_name}/{planned.path}"
    return f"{place} ({planned.effect}{': ' + names if names else ''})"


def _joined(texts: Sequence[str]) -> str:
    more = len(texts) - _MAX_NAMED
    return ", ".join(texts[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
