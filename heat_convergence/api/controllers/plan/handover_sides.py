"""The stacks of a plan that hands resources over: as they are, and with their new goals.

Base of the makers of such plans.  Decides what a plan stores of a stack, and reads it again for
the execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.controllers.plan.drafts import (
    definition_values,
    preview_goal,
    source_from_json,
    source_to_json,
    values_from_json,
    values_to_json,
)
from heat_convergence.api.controllers.plan.tree_state import TreeState, read_tree_state
from heat_convergence.api.controllers.stack.stack_writes import (
    load_replaced_goal,
    source_of_update,
    stack_values_of_update,
    with_new_timeout,
)
from heat_convergence.api.http import ApiRequest
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.convergence.lifecycle.traversal import TraversalRequest
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.handover import list_unsettled, settle_rows
from heat_convergence.convergence.plans.difference import capture_definitions
from heat_convergence.convergence.plans.duration import TypeHistory
from heat_convergence.convergence.plans.stored_plan import PlanAction
from heat_convergence.db.plans.history import read_type_history
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder
from heat_convergence.stacks.plans.handover_checks import (
    as_unchanged,
    require_at_rest,
    require_settled,
)
from heat_convergence.stacks.plans.planned_resource import PlannedResource
from heat_convergence.stacks.source.template_source import TemplateSource

Json = Any


@dataclass(frozen=True, slots=True)
class HandoverSide:
    """One stack of a plan that hands resources over.

    Attributes:
        tree: the stack as it is.
        prepared: its new goal.
        values: columns of the stack that the plan sets.
    """

    tree: TreeState
    source: TemplateSource
    prepared: PreparedStack
    values: Mapping[str, Any]
    history: TypeHistory = field(default_factory=dict)

    @property
    def stack(self) -> Stack:
        """The stack."""
        return self.tree.stack

    @property
    def desired_resources(self) -> Mapping[str, DesiredResource]:
        """The resources of the new goal by name."""
        return self.prepared.desired_resources

    def to_json(self) -> dict[str, Json]:
        """Return what a plan stores of the stack."""
        return {"source": source_to_json(self.source), "values": values_to_json(self.values)}

    def capture_definitions(self, prefix: str = "") -> Mapping[str, Json]:
        """Return what a plan depends on of the new goal, with a prefix to the names."""
        found = definition_values(self.prepared)
        return capture_definitions({prefix + name: each for name, each in found.items()})

    def start_request(self) -> TraversalRequest:
        """Return the request to reach the new goal."""
        return TraversalRequest(
            self.stack.id,
            Action.UPDATE,
            self.prepared.goal,
            self.prepared.desired_resources,
            self.values,
            contents=self.prepared.contents,
        )


class HandoverPlans(Controller):
    """The steps that plans of imports, moves and renames share."""

    def __init__(
        self, services: ApiServices, enforcer: PolicyEnforcer, builder: StackBuilder
    ) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = builder

    def read_side(
        self,
        request: ApiRequest,
        stack: Stack,
        fields: Mapping[str, Json],
        action: PlanAction,
        *,
        keeps_goal: bool,
    ) -> HandoverSide:
        """Return a stack and the goal that the fields of a request lead to.

        Raises:
            ActionInProgress: the stack is not at rest.
            Error: the template is not valid.
        """
        require_at_rest(stack, action)
        purpose = BodyPurpose.PATCH if keeps_goal else BodyPurpose.UPDATE
        body = parse_stack_body(fields, purpose)
        with self.database.read() as conn:
            replaced_goal = load_replaced_goal(self._builder, conn, stack, purpose)
            tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
            history = read_type_history(conn, stack.project_id)
        source = source_of_update(self._builder.sources, body, purpose, replaced_goal)
        forbidden = self._enforcer.type_forbidden_for(request)
        base = UpdateBase(replaced_goal, lambda _names: tree.rows)
        values = stack_values_of_update(body, purpose)
        timed = with_new_timeout(stack, values)
        prepared = self._builder.prepare_update(source, timed, forbidden, base)
        return HandoverSide(tree, source, prepared, values, history)

    def restore_side(
        self, request: ApiRequest, tree: TreeState, stored: Mapping[str, Json]
    ) -> HandoverSide:
        """Return a stack and the goal that a plan has stored.

        Args:
            request: the request to execute the plan.
            tree: the stack as it is.
            stored: the value of ``HandoverSide.to_json``.
        """
        with self.database.read() as conn:
            replaced_goal = self._builder.load_goal_without_files(conn, tree.stack)
        source = source_from_json(self._builder, stored["source"])
        prepared = self._builder.prepare_update(
            source,
            replace(tree.stack, goal_id=self.services.ids()),
            self._enforcer.type_forbidden_for(request),
            UpdateBase(replaced_goal, lambda _names: tree.rows),
        )
        return HandoverSide(tree, source, prepared, values_from_json(stored["values"]))

    def preview(self, side: HandoverSide, rows: Sequence[Resource]) -> list[PlannedResource]:
        """Return what the new goal does to the resources of a stack.

        Args:
            side: the stack.
            rows: its own resources in their new places.
        """
        tree = replace(side.tree, rows=rows)
        found = preview_goal(self.services, self._builder, side.prepared, tree)
        return list(as_unchanged(found, rows, side.desired_resources))

    def require_settled(
        self, action: PlanAction, side: HandoverSide, rows: Sequence[Resource]
    ) -> None:
        """Require that the new goal has nothing to do once the rows are in their places."""
        settled = settle_rows(rows, side.desired_resources)
        context = self.plan_context(side.stack)
        names = list_unsettled(settled, side.desired_resources, context)
        require_settled(action, side.stack, names)

    def plan_context(self, stack: Stack) -> PlanContext:
        """Return the context in which the next traversal of a stack is planned."""
        return PlanContext.of_next_update(stack, self.services.clock(), self.services.ids)
