"""Plans to move resources to another stack or to rename them, and their execution.

Called by the controllers of plans.  Nothing is changed in the cloud: the rows of the resources
get other places, in one transaction with the new goals of the stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.api.controllers.base import get_undeleted_stack
from heat_convergence.api.controllers.plan.drafts import DraftPlan
from heat_convergence.api.controllers.plan.execution_guard import (
    PreparedAction,
    guarded,
    require_same_definitions,
)
from heat_convergence.api.controllers.plan.handover_sides import HandoverPlans, HandoverSide
from heat_convergence.api.controllers.plan.tree_state import TreeState, read_tree_state
from heat_convergence.api.http import ApiRequest
from heat_convergence.api.requests.plans import PlanBody
from heat_convergence.api.trust_delegation import renew_delegation
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.handover.resource_handover import Handover, hand_over
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.handover import ResourceMove, place_rows
from heat_convergence.convergence.plans.difference import list_differences
from heat_convergence.convergence.plans.stored_plan import PlannedEffect, StoredPlan
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import stacks
from heat_convergence.stacks import quotas
from heat_convergence.stacks.plans.handover_checks import require_movable, require_unchanged
from heat_convergence.stacks.plans.planned_resource import PlannedResource

_PAIRS, _TARGET, _STACK_ID, _STACK_NAME = "pairs", "target", "stack_id", "stack_name"


class MovePlans(HandoverPlans):
    """The plans to move and to rename resources."""

    def draft(
        self, request: ApiRequest, stack_name: str, stack_id: str, body: PlanBody
    ) -> DraftPlan:
        """Return the plan of a request.

        Raises:
            HandoverConflict: a resource of the target has one of the names.
        """
        sides = self._read_sides(request, stack_name, stack_id, body)
        moves = _moves(sides, body.pairs)
        self._require_places(sides, moves)
        rows = {each.stack.id: each.tree.rows for each in sides}
        placed = place_rows(rows, moves)
        resources = [
            planned for side in sides for planned in self.preview(side, placed[side.stack.id])
        ]
        require_unchanged(body.action, resources)
        for side in sides:
            self.require_settled(body.action, side, placed[side.stack.id])
        shown = list(_with_moves(resources, moves, sides))
        first = sides[0]
        stored: dict[str, Json] = {**first.to_json(), _PAIRS: dict(body.pairs)}
        if len(sides) > 1:
            target = sides[1].stack
            names = {_STACK_ID: target.id, _STACK_NAME: target.name}
            stored[_TARGET] = {**sides[1].to_json(), **names}
        return DraftPlan(body.action, first.stack, shown, first.history, stored, _capture(sides))

    def prepare(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        """Return the execution of a plan that still holds.

        Raises:
            PlanOutdated: one of the stacks is not as it was.
        """
        trees = self._unchanged_trees(request, plan)
        stored = [plan.request, *_stored_target(plan)]
        sides = [
            self.restore_side(request, tree, each)
            for tree, each in zip(trees, stored, strict=True)
        ]
        for side, prefix in zip(sides, _prefixes(sides), strict=True):
            require_same_definitions(plan, side.prepared, prefix)
        for side in sides:
            renew_delegation(self.services, request, side.stack)
        moves = _moves(sides, plan.request[_PAIRS])
        others = tuple(side.stack.id for side in sides[1:])
        return PreparedAction(
            guarded(plan, lambda tx: self._move(tx, sides, moves), others), locked_ids=others
        )

    def _move(
        self, tx: Transaction, sides: Sequence[HandoverSide], moves: Sequence[ResourceMove]
    ) -> StartedTraversal:
        handover = Handover([side.start_request() for side in sides], moves)
        started = hand_over(tx, handover, self.traversal_context())
        for each in started:
            quotas.check_updated_tree(tx, each, self.options)
        messages = tuple(message for each in started for message in each.outgoing_messages)
        return replace(started[0], outgoing_messages=messages)

    def _read_sides(
        self, request: ApiRequest, stack_name: str, stack_id: str, body: PlanBody
    ) -> list[HandoverSide]:
        """Return the stack and, of a move, the target."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            target = self._find_target(conn, stack, body)
        side = self.read_side(request, stack, body.fields, body.action, keeps_goal=body.keeps_goal)
        if target is None or body.target is None:
            return [side]
        target_body = body.target
        return [
            side,
            self.read_side(
                request, target, target_body.fields, body.action, keeps_goal=target_body.keeps_goal
            ),
        ]

    @staticmethod
    def _find_target(conn: Any, stack: Stack, body: PlanBody) -> Stack | None:
        """Return the stack to move to.

        RULE 12: it is looked for in the project of the first stack alone.
        """
        if body.target is None:
            return None
        found = stacks.find_by_id_or_name(conn, stack.project_id, body.target.stack)
        if found is None or found.deleted_at is not None:
            raise errors.EntityNotFound("Stack", body.target.stack)
        if found.id == stack.id:
            raise errors.HTTPBadRequest('"target" is the stack itself: use the action "rename".')
        return found

    def _require_places(
        self, sides: Sequence[HandoverSide], moves: Sequence[ResourceMove]
    ) -> None:
        """Require that each resource can leave its place and that the new one is free.

        Raises:
            HandoverConflict: a resource has the name already.
            HTTPBadRequest: a template names a resource where it is not, or with another type.
        """
        first, last = sides[0], sides[-1]
        services = self.services
        rows = first.tree.rows
        require_movable(first.stack, rows, moves, services.registry, services.clock())
        implementations = {row.name: row.desired.implementation for row in rows}
        left = {each.source_name for each in moves} if first is last else set()
        taken = {row.name for row in last.tree.rows} - left
        for each in moves:
            if each.target_name in taken:
                raise errors.HandoverConflict(
                    f"Stack {last.stack.name} has a resource {each.target_name} already."
                )
            _require_in_templates(first, last, each, implementations[each.source_name])

    def _unchanged_trees(self, request: ApiRequest, plan: StoredPlan) -> list[TreeState]:
        depth = self.options.max_nested_stack_depth
        with self.database.read() as conn:
            found = [get_undeleted_stack(conn, request, plan.stack_name, plan.stack_id)]
            for each in _stored_target(plan):
                target = stacks.get(conn, each[_STACK_ID])
                if target is None or target.project_id != plan.project_id or target.deleted_at:
                    raise errors.EntityNotFound("Stack", each[_STACK_NAME])
                found.append(target)
            trees = [read_tree_state(conn, stack, depth) for stack in found]
        differences = list_differences(plan.state, _merged([tree.capture() for tree in trees]))
        if differences:
            raise errors.PlanOutdated(differences)
        return trees


def _stored_target(plan: StoredPlan) -> list[Mapping[str, Json]]:
    return [plan.request[_TARGET]] if _TARGET in plan.request else []


def _moves(sides: Sequence[HandoverSide], pairs: Mapping[str, str]) -> list[ResourceMove]:
    first, last = sides[0].stack.id, sides[-1].stack.id
    return [ResourceMove(first, old, last, new) for old, new in sorted(pairs.items())]


def _require_in_templates(
    first: HandoverSide, last: HandoverSide, move: ResourceMove, implementation: str
) -> None:
    desired = last.desired_resources.get(move.target_name)
    if first is not last and move.source_name in first.desired_resources:
        raise errors.HTTPBadRequest(
            f"The template of stack {first.stack.name} still has resource {move.source_name}."
        )
    if desired is None:
        raise errors.HTTPBadRequest(
            f"The template of stack {last.stack.name} has no resource {move.target_name}."
        )
    if desired.implementation != implementation:
        raise errors.HTTPBadRequest(
            f"Resource {move.target_name} is a {desired.implementation} in the template, and"
            f" {move.source_name} is a {implementation}."
        )


def _prefixes(sides: Sequence[HandoverSide]) -> list[str]:
    """Return what stands before the names of definitions in the state of a plan."""
    return ["", *(f"{side.stack.name}/" for side in sides[1:])]


def _capture(sides: Sequence[HandoverSide]) -> dict[str, Json]:
    """Return what the plan depends on."""
    return {
        **_merged([side.tree.capture() for side in sides]),
        **_merged(
            [
                side.capture_definitions(prefix)
                for side, prefix in zip(sides, _prefixes(sides), strict=True)
            ]
        ),
    }


def _merged(states: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the captured states of several stacks as one."""
    found: dict[str, dict[str, Json]] = {}
    for state in states:
        for part, values in state.items():
            found.setdefault(part, {}).update(values)
    return dict(found)


def _with_moves(
    resources: Iterable[PlannedResource],
    moves: Sequence[ResourceMove],
    sides: Sequence[HandoverSide],
) -> Iterator[PlannedResource]:
    """Yield the resources, those that get another place with the place that they have."""
    first, last = sides[0].stack, sides[-1].stack
    by_name = {each.target_name: each for each in moves}
    observed = sides[0].tree.observed_by_place
    for each in resources:
        move = by_name.get(each.path) if each.stack_id == last.id else None
        if move is None or (first.id == last.id and move.source_name == move.target_name):
            yield each
            continue
        renamed = first.id == last.id
        found = observed.get((first.id, move.source_name))
        yield replace(
            each,
            effect=PlannedEffect.RENAME if renamed else PlannedEffect.MOVE,
            reason=f"{move.source_name} until now"
            if renamed
            else f"resource {move.source_name} of stack {first.name} until now",
            drift_status=found.status if found else each.drift_status,
        )
