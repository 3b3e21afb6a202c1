"""Writing: create, update, patch and delete a stack.

Called by the root controller.  Decides the order of checks and what is kept of an
earlier goal; answers as soon as the first jobs are handed to the bus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, empty_response, json_response, text_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.adopt_stack_data import (
    AdoptedResourceBody,
    merge_adopt_stack_data,
)
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, StackBody, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.stack_builder import PreparedStack, StackBuilder
from heat_convergence.api.trust_delegation import (
    delegation_for_new_stack,
    renew_delegation,
    renew_delegation_if_possible,
)
from heat_convergence.api.views import stacks as view
from heat_convergence.api.views.links import stack_url
from heat_convergence.convergence.lifecycle import stack_actions, traversal
from heat_convergence.convergence.lifecycle.traversal import (
    AdoptedResource,
    StartedTraversal,
    TraversalContext,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import ADOPTED_STACK
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.ports.store import Transaction


class StackWritesController(Controller):
    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = StackBuilder(services)
        self._sources = self._goals.sources

    def create(self, request: ApiRequest) -> webob.Response:
        body = parse_stack_body(request.json_object, BodyPurpose.CREATE)
        enabled = self.options.enable_stack_adopt
        body, given = merge_adopt_stack_data(body, self.services.limits, enabled=enabled)
        stack = stack_from_body(request, body, self.services)
        if given is not None:
            stack = replace(stack, action=Action.ADOPT)
        source = self._sources.from_request(body, section_error=None)
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, request.caller, self.options)
        self._goals.check_new_stack(source, stack)
        draft = self._goals.prepare(source, stack, self._enforcer.type_forbidden_for(request))
        with delegation_for_new_stack(self.services, request, stack):
            handed = None if given is None else self._handed(given, draft)
            begun = run_in_transaction(
                self.services, lambda tx: self._begin(tx, stack, draft, handed)
            )
        traversal.send_first_messages(self.services.bus, begun, self.services.settings)
        answer = json_response(view.format_created_stack(stack, request.base_url), 201)
        answer.location = stack_url(request.base_url, stack)
        return answer

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        body = parse_stack_body(request.json_object, BodyPurpose.UPDATE)
        return self._change(request, stack_name, stack_id, body, BodyPurpose.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        body = parse_stack_body(request.json_object, BodyPurpose.PATCH)
        rule = "stacks:update_no_change" if body.is_empty_patch else "stacks:update_patch"
        self._enforcer.enforce(request, rule)
        return self._change(request, stack_name, stack_id, body, BodyPurpose.PATCH)

    def delete(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        skip = QueryParams(request.GET).values("skip")
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        renew_delegation_if_possible(self.services, request, stack)
        means = self._means()
        begun = run_in_transaction(
            self.services, lambda tx: stack_actions.delete_stack(tx, stack.id, skip, means)
        )
        traversal.send_first_messages(self.services.bus, begun, self.services.settings)
        return empty_response()

    def _begin(
        self,
        tx: Transaction,
        stack: Stack,
        draft: PreparedStack,
        handed: Mapping[str, AdoptedResource] | None,
    ) -> StartedTraversal:
        tx.contents.put(draft.contents)
        return traversal.create_stack(
            tx,
            stack=stack,
            goal=draft.goal,
            desired_resources=draft.desired_resources,
            context=self._means(),
            adopted_resources=handed,
        )

    def _handed(
        self, given: Mapping[str, AdoptedResourceBody], draft: PreparedStack
    ) -> dict[str, AdoptedResource]:
        """What the new stack takes over; of types that keep secrets, sealed."""
        handed = {}
        for name in given.keys() & draft.desired_resources.keys():
            kind = self.services.registry.find(draft.desired_resources[name].implementation)
            secret = ADOPTED_STACK in given[name].data or (
                kind is not None and bool(kind.secret_data)
            )
            handed[name] = AdoptedResource(
                given[name].physical_id, given[name].data, secret, given[name].suspended
            )
        return handed

    def _change(
        self, request: ApiRequest, name: str, stack_id: str, body: StackBody, use: BodyPurpose
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            before = self._goals.load_replaced_goal(conn, stack, use)
        quotas.check_updatable(stack)
        source = self._sources.from_update_request(body, use, before)
        forbidden = self._enforcer.type_forbidden_for(request)
        then = replace(stack, goal_id=self.services.ids())
        draft = self._goals.prepare(source, then, forbidden, replaced_goal=before)
        renew_delegation(self.services, request, stack)
        looks = body.converge or self.options.observe_on_update
        reality = StateSource.OBSERVED if looks else StateSource.RECORDED
        begun = run_in_transaction(
            self.services, lambda tx: self._update(tx, stack, draft, _columns(body, use), reality)
        )
        traversal.send_first_messages(self.services.bus, begun, self.services.settings)
        return text_response(202)

    def _update(
        self,
        tx: Transaction,
        stack: Stack,
        draft: PreparedStack,
        values: Mapping[str, Any],
        reality: StateSource,
    ) -> StartedTraversal:
        tx.contents.put(draft.contents)
        return traversal.start_traversal(
            tx,
            stack_id=stack.id,
            action=Action.UPDATE,
            context=self._means(),
            goal=draft.goal,
            desired_resources=draft.desired_resources,
            stack_values=values,
            state_source=reality,
        )

    def _means(self) -> TraversalContext:
        return TraversalContext(self.services.clock(), self.services.ids, self.services.settings)


def stack_from_body(request: ApiRequest, body: StackBody, services: ApiServices) -> Stack:
    """A root stack as the body wants it; it is stored nowhere yet."""
    return Stack(
        id=services.ids(),
        name=body.name,
        project_id=request.project_id,
        version=1,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        status_reason="",
        goal_id=services.ids(),
        created_at=services.clock(),
        username=request.caller.user_name,
        disable_rollback=True if body.disable_rollback is None else body.disable_rollback,
        timeout_mins=body.timeout_mins,
        tags=body.tags or (),
    )


def _columns(body: StackBody, use: BodyPurpose) -> dict[str, Any]:
    """What an update sets beside the goal; absent fields stay as they are, but PUT
    without tags takes them away."""
    values: dict[str, Any] = {}
    if body.timeout_mins is not None:
        values["timeout_mins"] = body.timeout_mins
    if body.disable_rollback is not None:
        values["disable_rollback"] = body.disable_rollback
    if body.tags is not None or use is BodyPurpose.UPDATE:
        values["tags"] = body.tags or ()
    return values
