"""Simulated users who import, move and rename resources, by plans as the API makes and executes.

A request makes a plan in one transaction and executes it in another, so that a process may end in
between; ``execute`` executes the newest plan of a stack again.  Called by the environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from heat_convergence.api.controllers.plan.execution_guard import (
    PreparedAction,
    guarded,
    require_ready,
    start_once,
)
from heat_convergence.common import errors
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.handover.resource_handover import Handover, hand_over
from heat_convergence.convergence.lifecycle.outgoing_messages import send_messages
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.traversal import TraversalRequest
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import PlanContext
from heat_convergence.convergence.planning.handover import (
    ExistingObject,
    ResourceMove,
    list_unsettled,
    place_rows,
    settle_rows,
)
from heat_convergence.convergence.plans.difference import capture_state, list_differences
from heat_convergence.convergence.plans.stored_plan import PlanAction, StoredPlan
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks.plans.handover_checks import (
    require_at_rest,
    require_movable,
    require_settled,
)
from heat_convergence.stacks.plans.object_ownership import ImportedObject, require_still_unowned
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.handover.object_imports import (
    find_importable,
    read_object,
)
from heat_convergence.testing.simulation.handover.template_changes import (
    connected_names,
    free_names,
    renamed,
    spec_of_object,
    without_names,
)
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.goals import read_template, store_goal
from heat_convergence.testing.simulation.workload.simulated_users import RequestServices
from heat_convergence.testing.simulation.workload.template_notation import TemplateSpec
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

_PLAN_VALID = timedelta(hours=1)
_TEMPLATES, _MOVES, _OBJECTS = "templates", "moves", "objects"


@dataclass(frozen=True, slots=True)
class _Side:
    """A stack of a plan, as it was read, and the template that it has or is to have."""

    stack: Stack
    rows: Sequence[Resource]
    template: TemplateSpec


@dataclass(frozen=True, slots=True)
class _Change:
    """The change of a plan: the templates of the stacks, the places of resources, their objects.

    Attributes:
        objects: name → id of an object that the first stack imports.
    """

    sides: Sequence[_Side]
    moves: Sequence[ResourceMove] = ()
    objects: Mapping[str, str] = field(default_factory=dict)


class HandoverUsers:
    """The users of one project, and the plans that they have asked for.

    Attributes:
        plan_ids: the ids of the plans by the stack's name, oldest first.
    """

    def __init__(self, project_id: str, cloud: SimulatedCloud) -> None:
        self._project_id = project_id
        self._cloud = cloud
        self.plan_ids: dict[str, list[str]] = {}

    def perform(
        self, request: UserRequest, stack_ids: Sequence[str], services: RequestServices
    ) -> str | None:
        """Perform a request.

        Args:
            request: the request to perform.
            stack_ids: the ids of the stack and, for a move, of the target.
            services: the services that handle the request.

        Returns:
            The class name of the error if the request is refused.
        """
        try:
            if request.operation == "execute":
                plan_id = (self.plan_ids.get(request.stack) or ["none"])[-1]
            else:
                plan_id = self._make_plan(request, stack_ids, services)
            self._execute(plan_id, services)
        except errors.Error as error:
            if error.retry is not errors.Retry.NEVER:
                raise
            return type(error).__name__
        return None

    # -- plans

    def _make_plan(
        self, request: UserRequest, stack_ids: Sequence[str], services: RequestServices
    ) -> str:
        """Store the plan of a request and return its id."""
        with services.store.read() as tx:
            sides = _read_sides(tx, stack_ids)
        for side in sides:
            require_at_rest(side.stack, PlanAction(request.operation))
        change = getattr(self, f"_{request.operation}")(request, sides, services)
        first = change.sides[0].stack
        rows = [row for side in change.sides for row in side.rows]
        plan = StoredPlan(
            id=services.context.ids(),
            stack_id=first.id,
            stack_name=first.name,
            project_id=self._project_id,
            action=PlanAction(request.operation),
            username=None,
            created_at=services.context.now,
            expires_at=services.context.now + _PLAN_VALID,
            stack_version=first.version,
            request=_stored(change),
            state=capture_state([side.stack for side in change.sides], rows, ()),
        )
        self.plan_ids.setdefault(request.stack, []).append(plan.id)
        _in_transaction(services, lambda tx: tx.plans.insert(plan))
        return plan.id

    def _move(
        self, request: UserRequest, sides: Sequence[_Side], services: RequestServices
    ) -> _Change:
        source, target = sides
        if source.stack.id == target.stack.id:
            raise errors.HTTPBadRequest("the target is the stack itself")
        names = connected_names(source.template, request.resource)
        new_names = free_names(names, [row.name for row in target.rows])
        moved = {name: spec for name, spec in source.template.items() if name in names}
        changed = [
            replace(source, template=without_names(source.template, names)),
            replace(target, template={**target.template, **renamed(moved, new_names)}),
        ]
        moves = [
            ResourceMove(source.stack.id, old, target.stack.id, new)
            for old, new in sorted(new_names.items())
        ]
        return self._checked(_Change(changed, moves), services)

    def _rename(
        self, request: UserRequest, sides: Sequence[_Side], services: RequestServices
    ) -> _Change:
        (side,) = sides
        names = {request.resource: request.new_name}
        if request.new_name in side.template:  # they are swapped
            names[request.new_name] = request.resource
        changed = replace(side, template=renamed(side.template, names))
        moves = [
            ResourceMove(side.stack.id, old, side.stack.id, new)
            for old, new in sorted(names.items())
        ]
        return self._checked(_Change([changed], moves), services)

    def _import(
        self, request: UserRequest, sides: Sequence[_Side], services: RequestServices
    ) -> _Change:
        (side,) = sides
        if request.resource in {row.name for row in side.rows}:
            raise errors.HandoverConflict(f"there is a resource {request.resource}")
        found = find_importable(self._cloud)
        if found is None:
            raise errors.NotFound("there is no object to import")
        spec = spec_of_object(request.resource, found.type, found.properties)
        changed = replace(side, template={**side.template, spec.name: spec})
        change = _Change([changed], objects={spec.name: found.id})
        self._read_objects(change, services)
        return change

    def _checked(self, change: _Change, services: RequestServices) -> _Change:
        """Check the moves of a plan as the API does, and return it."""
        now, first = services.context.now, change.sides[0]
        require_movable(first.stack, first.rows, change.moves, services.registry, now)
        placed = place_rows({side.stack.id: side.rows for side in change.sides}, change.moves)
        for side in change.sides:
            desired = nested_templates.desired_resources(side.template)
            rows = settle_rows(placed[side.stack.id], desired)
            names = list_unsettled(rows, desired, _plan_context(side.stack, services))
            require_settled(PlanAction.MOVE, side.stack, names)
        return change

    # -- executions

    def _execute(self, plan_id: str, services: RequestServices) -> None:
        with services.store.read() as tx:
            plan = tx.plans.get(plan_id)
            if plan is None:
                raise errors.EntityNotFound("Plan", plan_id)
            require_ready(plan, services.context.now)
            sides = _read_sides(tx, [each for each, _text in plan.request[_TEMPLATES]])
        rows = [row for side in sides for row in side.rows]
        current = capture_state([side.stack for side in sides], rows, ())
        differences = list_differences(plan.state, current)
        if differences:
            raise errors.PlanOutdated(differences)
        change = _restored(plan, sides)
        imports = self._read_objects(change, services)
        start = partial(_start, change=change, services=services, imports=imports)
        others = tuple(side.stack.id for side in sides[1:])
        prepared = PreparedAction(guarded(plan, start, others), locked_ids=others)
        started = _in_transaction(
            services, lambda tx: start_once(tx, plan, services.context.now, prepared)
        )
        send_messages(services.bus, started.outgoing_messages, services.context.settings)

    @staticmethod
    def _read_objects(change: _Change, services: RequestServices) -> Mapping[str, ExistingObject]:
        """Read the objects to import; ``PlanOutdated`` if one is not as the template says."""
        side = change.sides[0]
        desired = nested_templates.desired_resources(side.template)
        plan_context = _plan_context(side.stack, services)
        return {
            name: read_object(
                desired[name], physical_id, side.stack, plan_context, services.registry
            )
            for name, physical_id in change.objects.items()
        }


def _start(
    tx: Transaction,
    *,
    change: _Change,
    services: RequestServices,
    imports: Mapping[str, ExistingObject],
) -> StartedTraversal:
    """Hand the resources over, as the API does."""
    context = services.context
    requests = [
        TraversalRequest(
            side.stack.id,
            Action.UPDATE,
            store_goal(tx, side.stack.id, side.template, context),
            nested_templates.desired_resources(side.template),
        )
        for side in change.sides
    ]
    started = hand_over(tx, Handover(requests, change.moves, imports), context)
    if imports:
        (side,) = change.sides
        objects = [
            ImportedObject(name, requests[0].desired_resources[name].implementation, each)
            for name, each in change.objects.items()
        ]
        require_still_unowned(tx, side.stack, objects, services.registry)
    messages = tuple(message for each in started for message in each.outgoing_messages)
    return replace(started[0], outgoing_messages=messages)


def _in_transaction(services: RequestServices, work: Any) -> Any:
    def attempt() -> Any:
        with services.store.transaction() as tx:
            return work(tx)

    return retry_transaction(attempt, wait=services.wait)


def _read_sides(tx: Transaction, stack_ids: Sequence[str]) -> list[_Side]:
    found = []
    for stack_id in stack_ids:
        stack = tx.stacks.get(stack_id)
        if stack is None or stack.deleted_at is not None:
            raise errors.EntityNotFound("Stack", stack_id)
        rows = tx.resources.get_by_stack(stack_id)
        found.append(_Side(stack, rows, read_template(tx, stack.goal_id)))
    return found


def _plan_context(stack: Stack, services: RequestServices) -> PlanContext:
    return PlanContext.of_next_update(stack, services.context.now, services.context.ids)


def _stored(change: _Change) -> dict[str, Any]:
    texts = [
        [side.stack.id, template_notation.format_template(side.template)] for side in change.sides
    ]
    moves = [
        [each.source_id, each.source_name, each.target_id, each.target_name]
        for each in change.moves
    ]
    return {_TEMPLATES: texts, _MOVES: moves, _OBJECTS: dict(change.objects)}


def _restored(plan: StoredPlan, sides: Sequence[_Side]) -> _Change:
    texts = dict(plan.request[_TEMPLATES])
    changed = [
        replace(side, template=template_notation.parse_template(texts[side.stack.id]))
        for side in sides
    ]
    moves = [ResourceMove(*each) for each in plan.request[_MOVES]]
    return _Change(changed, moves, plan.request[_OBJECTS])
