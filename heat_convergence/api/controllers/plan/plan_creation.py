"""The creation of plans: what a create, update, deletion or repair of a stack would do.

Called by the root controller. Reads the whole tree with a number of statements that does not
grow with it, and stores the plan; it starts nothing and writes to no other service.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    may_read_secrets,
    run_in_transaction,
)
from heat_convergence.api.controllers.plan.drafts import (
    DraftPlan,
    definition_values,
    preview_goal,
    source_to_json,
    values_to_json,
)
from heat_convergence.api.controllers.plan.import_plans import ImportPlans
from heat_convergence.api.controllers.plan.move_plans import MovePlans
from heat_convergence.api.controllers.plan.tree_state import TreeState, read_tree_state
from heat_convergence.api.controllers.stack import repair, repair_preview
from heat_convergence.api.controllers.stack.stack_writes import (
    load_replaced_goal,
    source_of_update,
    stack_from_body,
    stack_values_of_update,
    update_state_source,
    with_new_timeout,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.plans import PlanBody, parse_plan_body
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import plans as view
from heat_convergence.common import errors
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.plans.difference import capture_definitions
from heat_convergence.convergence.plans.stored_plan import PlanAction, StoredPlan
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.plans.history import read_type_history
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.stacks.plans.plan_document import build_document, build_summary
from heat_convergence.stacks.plans.quota_check import check_quotas
from heat_convergence.stacks.plans.quota_demand import compute_demand
from heat_convergence.stacks.plans.repair_plan import with_repairs
from heat_convergence.stacks.plans.tree_plan import list_tree_resources, plan_deletion
from heat_convergence.stacks.source.template_source import reject_resource_list

Json = Any


class PlanCreationController(Controller):
    """The handlers that make plans."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)
        self._imports = ImportPlans(services, enforcer, self._builder)
        self._moves = MovePlans(services, enforcer, self._builder)

    def create(self, request: ApiRequest) -> webob.Response:
        """Make a plan to create a stack."""
        body = parse_stack_body(request.json_object, BodyPurpose.CREATE)
        if body.adopt_stack_data is not None:
            raise errors.HTTPBadRequest("A plan cannot adopt resources.")
        stack = stack_from_body(request, body, self.services)
        source = self._builder.sources.from_request(body, section_error=None)
        reject_resource_list(source)
        unlimited = request.caller.is_cloud_admin
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, self.options, unlimited=unlimited)
            history = read_type_history(conn, stack.project_id)
        forbidden = self._enforcer.type_forbidden_for(request)
        prepared = self._builder.prepare_new(source, stack, forbidden)
        resources = preview_goal(self.services, self._builder, prepared, TreeState(stack))
        values = {
            "tags": list(stack.tags),
            "timeout_mins": stack.timeout_mins,
            "disable_rollback": stack.disable_rollback,
        }
        stored = {"source": source_to_json(source), "values": values}
        state = capture_definitions(definition_values(prepared))
        draft = DraftPlan(PlanAction.CREATE, stack, resources, history, stored, state)
        return self._store(request, draft)

    def create_for_stack(
        self, request: ApiRequest, stack_name: str, stack_id: str
    ) -> webob.Response:
        """Make a plan of an action on an existing stack."""
        body = parse_plan_body(request.require_json_object())
        if body.action in (PlanAction.UPDATE, PlanAction.PATCH):
            draft = self._update(request, stack_name, stack_id, body)
        elif body.action is PlanAction.IMPORT:
            draft = self._imports.draft(request, stack_name, stack_id, body)
        elif body.action in (PlanAction.MOVE, PlanAction.RENAME):
            draft = self._moves.draft(request, stack_name, stack_id, body)
        elif body.action is PlanAction.DELETE:
            draft = self._delete(request, stack_name, stack_id, body)
        else:
            draft = self._repair(request, stack_name, stack_id, body)
        return self._store(request, draft)

    def _update(
        self, request: ApiRequest, name: str, stack_id: str, plan_body: PlanBody
    ) -> DraftPlan:
        purpose = _PURPOSES[plan_body.action]
        body = parse_stack_body(plan_body.fields, purpose)
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            replaced_goal = load_replaced_goal(self._builder, conn, stack, purpose)
            tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
            history = read_type_history(conn, stack.project_id)
        quotas.check_updatable(stack)
        source = source_of_update(self._builder.sources, body, purpose, replaced_goal)
        forbidden = self._enforcer.type_forbidden_for(request)
        state_source = update_state_source(body, self.options)
        base = UpdateBase(replaced_goal, lambda _names: tree.rows, state_source)
        timed = with_new_timeout(stack, stack_values_of_update(body, purpose))
        prepared = self._builder.prepare_update(source, timed, forbidden, base)
        resources = preview_goal(self.services, self._builder, prepared, tree)
        if state_source is StateSource.OBSERVED:
            found = repair_preview.preview_all(self.services.registry, tree.observed)
            resources = list(with_repairs(resources, found))
        stored = {
            "source": source_to_json(source),
            "values": values_to_json(stack_values_of_update(body, purpose)),
            "state_source": state_source.value,
        }
        state = {**tree.capture(), **capture_definitions(definition_values(prepared))}
        return DraftPlan(plan_body.action, stack, resources, history, stored, state)

    def _delete(self, request: ApiRequest, name: str, stack_id: str, body: PlanBody) -> DraftPlan:
        skipped = body.names or ()
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
            history = read_type_history(conn, stack.project_id)
        for missing in sorted({*skipped} - {row.name for row in tree.rows}):
            raise errors.ResourceNotFound(missing, stack.name)
        existing = list(list_tree_resources(stack, tree.rows, tree.tree, tree.observed_by_place))
        resources = list(plan_deletion(existing, skipped))
        stored = {"skip": list(skipped)}
        return DraftPlan(body.action, stack, resources, history, stored, tree.capture())

    def _repair(self, request: ApiRequest, name: str, stack_id: str, body: PlanBody) -> DraftPlan:
        services = self.services
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
            history = read_type_history(conn, stack.project_id)
            found = repair.load_repair(conn, services, self._builder, stack, body.names)
            effects = repair_preview.preview(conn, services, found, body.names)
        existing = list_tree_resources(stack, tree.rows, tree.tree, tree.observed_by_place)
        resources = list(with_repairs(existing, effects))
        stored = {"names": sorted(found.names)}
        return DraftPlan(body.action, stack, resources, history, stored, tree.capture())

    def _store(self, request: ApiRequest, draft: DraftPlan) -> webob.Response:
        """Store the plan, and return it."""
        services, stack = self.services, draft.stack
        quota_result = check_quotas(current_cloud(), compute_demand(draft.resources))
        now = services.clock()
        plan = StoredPlan(
            id=services.ids(),
            stack_id=stack.id,
            stack_name=stack.name,
            project_id=stack.project_id,
            action=draft.action,
            username=request.caller.user_name,
            created_at=now,
            expires_at=now + timedelta(seconds=self.options.plan_lifetime_s),
            stack_version=stack.version,
            summary=build_summary(draft.action, draft.resources, quota_result, draft.history),
            document=build_document(draft.resources, quota_result),
            request=draft.request,
            state=draft.state,
        )
        run_in_transaction(services, lambda tx: self._insert(tx, request, plan))
        shown = view.format_plan(
            plan,
            now,
            request.base_url,
            (),
            shows_secrets=may_read_secrets(request, self._enforcer),
        )
        return json_response({"plan": shown}, 201)

    def _insert(self, tx: Transaction, request: ApiRequest, plan: StoredPlan) -> None:
        limit = self.options.max_plans_per_tenant
        if limit >= 0 and not request.caller.is_cloud_admin:
            tx.stacks.lock_quotas(plan.project_id)
            if tx.plans.count_ready(plan.project_id, plan.created_at) >= limit:
                raise errors.RequestLimitExceeded(
                    "Request limit exceeded: You have reached the maximum plans per project,"
                    f" {limit}. Please delete some plans."
                )
        tx.plans.insert(plan)


_PURPOSES = {PlanAction.UPDATE: BodyPurpose.UPDATE, PlanAction.PATCH: BodyPurpose.PATCH}


_PURPOSES = {PlanAction.UPDATE: BodyPurpose.UPDATE, PlanAction.PATCH: BodyPurpose.PATCH}
