"""The execution of a plan: the action is started if the plan still holds, else refused.

Called by the root controller. Decides whether a plan holds: everything that it was made from must
be as it was then. The action starts in the same transaction that marks the plan executed, under
the lock of the stack, so that a plan is executed once at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
    send_started,
)
from heat_convergence.api.controllers.new_stacks import NewStack, store_new_stack
from heat_convergence.api.controllers.plan.drafts import source_from_json, values_from_json
from heat_convergence.api.controllers.plan.execution_guard import (
    PreparedAction,
    guarded,
    require_ready,
    require_same_definitions,
    start_once,
)
from heat_convergence.api.controllers.plan.import_plans import ImportPlans
from heat_convergence.api.controllers.plan.move_plans import MovePlans
from heat_convergence.api.controllers.plan.plans import load_plan
from heat_convergence.api.controllers.plan.tree_state import read_tree_state
from heat_convergence.api.controllers.stack.repair import (
    StackRepair,
    prepare_repair,
    start_prepared_repair,
)
from heat_convergence.api.controllers.stack.stack_writes import (
    StackUpdate,
    list_rows,
    start_update,
    with_new_timeout,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import (
    delegation_for_new_stack,
    renew_delegation,
    renew_delegation_if_possible,
)
from heat_convergence.api.views import plans as view
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import stack_actions
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.plans.difference import list_differences
from heat_convergence.convergence.plans.stored_plan import PlanAction, StoredPlan
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import StackBuilder

Json = Any
RULES: Mapping[PlanAction, str] = {
    PlanAction.CREATE: "stacks:create",
    PlanAction.UPDATE: "stacks:update",
    PlanAction.PATCH: "stacks:update_patch",
    PlanAction.DELETE: "stacks:delete",
    PlanAction.REPAIR: "actions:repair",
    PlanAction.IMPORT: "stacks:update",
    PlanAction.MOVE: "stacks:update",
    PlanAction.RENAME: "stacks:update",
}
"""The policy rules of the actions, which a caller must pass to execute plans of them."""


class PlanExecutionController(Controller):
    """The handler that executes plans."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)
        moves = MovePlans(services, enforcer, self._builder)
        self._preparations = {
            PlanAction.CREATE: self._prepare_create,
            PlanAction.UPDATE: self._prepare_update,
            PlanAction.PATCH: self._prepare_update,
            PlanAction.DELETE: self._prepare_delete,
            PlanAction.REPAIR: self._prepare_repair,
            PlanAction.IMPORT: ImportPlans(services, enforcer, self._builder).prepare,
            PlanAction.MOVE: moves.prepare,
            PlanAction.RENAME: moves.prepare,
        }

    def execute(
        self, request: ApiRequest, plan_id: str, stack_name: str = "", stack_id: str = ""
    ) -> webob.Response:
        """Start the action of a plan."""
        with self.database.read() as conn:
            plan = load_plan(conn, request, plan_id, stack_name, stack_id)
        self._enforcer.enforce(request, RULES[plan.action])
        now = self.services.clock()
        require_ready(plan, now)
        prepared = self._preparations[plan.action](request, plan)
        with prepared.delegation:
            started = run_in_transaction(
                self.services, lambda tx: start_once(tx, plan, now, prepared)
            )
        send_started(self.services, started)
        executed = replace(plan, executed_at=now)
        shown = view.format_plan_header(executed, now, request.base_url)
        return json_response({"plan": shown}, 202)

    def _prepare_create(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        stack = self._new_stack(request, plan)
        unlimited = request.caller.is_cloud_admin
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, self.options, unlimited=unlimited)
        forbidden = self._enforcer.type_forbidden_for(request)
        source = source_from_json(self._builder, plan.request["source"])
        prepared = self._builder.prepare_new(source, stack, forbidden)
        require_same_definitions(plan, prepared)
        new = NewStack(stack, prepared.storable, unlimited)
        return PreparedAction(
            lambda tx: store_new_stack(tx, self.services, new),
            delegation_for_new_stack(self.services, request, stack),
        )

    def _prepare_update(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        with self.database.read() as conn:
            stack = self._unchanged_stack(conn, request, plan)
            replaced_goal = self._builder.load_goal_without_files(conn, stack)
        quotas.check_updatable(stack)
        state_source = StateSource(plan.request["state_source"])
        values = values_from_json(plan.request["values"])
        prepared = self._builder.prepare_update(
            source_from_json(self._builder, plan.request["source"]),
            replace(with_new_timeout(stack, values), goal_id=self.services.ids()),
            self._enforcer.type_forbidden_for(request),
            UpdateBase(
                replaced_goal, lambda names: list_rows(self.services, stack, names), state_source
            ),
        )
        require_same_definitions(plan, prepared)
        renew_delegation(self.services, request, stack)
        update = StackUpdate(stack.id, prepared.storable, values, state_source)
        return PreparedAction(guarded(plan, lambda tx: start_update(tx, self.services, update)))

    def _prepare_delete(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        with self.database.read() as conn:
            stack = self._unchanged_stack(conn, request, plan)
        renew_delegation_if_possible(self.services, request, stack)
        skip = tuple(plan.request["skip"])
        return PreparedAction(
            guarded(
                plan,
                lambda tx: stack_actions.delete_stack(
                    tx, stack.id, skip, self.traversal_context()
                ),
            )
        )

    def _prepare_repair(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        names = frozenset(plan.request["names"])
        with self.database.read() as conn:
            stack = self._unchanged_stack(conn, request, plan)
            goal = self._builder.load_goal(conn, stack)
        quotas.check_updatable(stack)
        renew_delegation(self.services, request, stack)
        repair = StackRepair(stack, goal, names)
        if not names:  # nothing has drifted: the plan is executed by doing nothing
            return PreparedAction(guarded(plan, lambda _tx: StartedTraversal(stack)))
        prepared = prepare_repair(request, self.services, self._builder, self._enforcer, repair)
        return PreparedAction(
            guarded(
                plan,
                lambda tx: start_prepared_repair(tx, repair, prepared, self.traversal_context()),
            )
        )

    def _unchanged_stack(self, conn: Any, request: ApiRequest, plan: StoredPlan) -> Stack:
        """Return the plan's stack.

        Raises:
            PlanOutdated: the tree, or what was observed of it, is not as it was.
        """
        stack = get_undeleted_stack(conn, request, plan.stack_name, plan.stack_id)
        tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
        found = list_differences(plan.state, tree.capture())
        if found:
            raise errors.PlanOutdated(found)
        return stack

    def _new_stack(self, request: ApiRequest, plan: StoredPlan) -> Stack:
        return Stack(
            id=plan.stack_id,
            name=plan.stack_name,
            project_id=plan.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=self.services.ids(),
            created_at=self.services.clock(),
            username=request.caller.user_name,
            **values_from_json(plan.request["values"]),
        )
