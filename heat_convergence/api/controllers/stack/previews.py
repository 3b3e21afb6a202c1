"""Previews: what a create or an update would do.  Writes nothing.

Called by the root controller.  ``?detail=plan`` adds the difference of every
property to the lists that clients know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller, get_undeleted_stack
from heat_convergence.api.controllers.stack.stack_writes import stack_from_body
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.adopt_stack_data import merge_adopt_stack_data
from heat_convergence.api.requests.params import InvalidRequestValue, QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.stack_builder import PreparedStack, StackBuilder
from heat_convergence.api.template_source import reject_resource_list
from heat_convergence.api.views import previews as view
from heat_convergence.api.views import stacks as stack_view
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.db.reads import resources
from heat_convergence.stacks.nested_preview import (
    NestedPreview,
    NestedStackChange,
    PlannedStack,
    StackTree,
    read_stack_tree,
)
from heat_convergence.stacks.preview import (
    PreviewContext,
    ResourceChange,
    preview_changes,
)

Json = Any
_MOST_LEVELS = 100  # where there is no limit


class PreviewsController(Controller):
    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = StackBuilder(services)
        self._sources = self._goals.sources

    def create(self, request: ApiRequest) -> webob.Response:
        detailed, _nested = _options(request)
        body = parse_stack_body(request.json_object, BodyPurpose.PREVIEW)
        enabled = self.options.enable_stack_adopt
        body, _given = merge_adopt_stack_data(body, self.services.limits, enabled=enabled)
        stack = stack_from_body(request, body, self.services)
        source = self._sources.from_request(body, section_error=None)
        reject_resource_list(source)
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, request.caller, self.options)
        self._goals.check_new_stack(source, stack)
        draft = self._goals.prepare(source, stack, self._enforcer.type_forbidden_for(request))
        now = self._now(stack, ())
        foreseen = preview_changes(now, draft.evaluated, draft.desired_resources)
        below = self._below(now, draft, foreseen, StackTree())
        shown = stack_view.format_stack(
            stack,
            request.base_url,
            description=draft.goal.description,
            parameters=draft.goal.parameters,
        )
        shown["resources"] = view.format_stack_preview(stack, foreseen, below)
        return json_response({"stack": shown} | _plan(foreseen, detailed))

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, BodyPurpose.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, BodyPurpose.PATCH)

    def _update(
        self, request: ApiRequest, name: str, stack_id: str, use: BodyPurpose
    ) -> webob.Response:
        detailed, nested = _options(request)
        body = parse_stack_body(request.json_object, use)
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            before = self._goals.load_replaced_goal(conn, stack, use)
            rows = resources.list_full(conn, stack.id)
            tree = read_stack_tree(conn, stack, self._levels(stack)) if nested else StackTree()
        quotas.check_updatable(stack)
        source = self._sources.from_update_request(body, use, before)
        forbidden = self._enforcer.type_forbidden_for(request)
        draft = self._goals.prepare(source, stack, forbidden, replaced_goal=before)
        now = self._now(stack, rows)
        foreseen = preview_changes(now, draft.evaluated, draft.desired_resources)
        below = self._below(now, draft, foreseen, tree) if nested else ()
        changes = view.format_resource_changes(stack, foreseen, below)
        return json_response({"resource_changes": changes} | _plan(foreseen, detailed))

    def _below(
        self,
        now: PreviewContext,
        draft: PreparedStack,
        foreseen: Sequence[ResourceChange],
        tree: StackTree,
    ) -> Sequence[NestedStackChange]:
        seer = NestedPreview(
            now,
            tree,
            self._goals.template_cache,
            self.options.max_nested_stack_depth,
            self.options.region,
        )
        level = PlannedStack(
            now.stack, draft.environment, draft.files, draft.desired_resources, foreseen
        )
        return seer.nested_changes(level)

    def _levels(self, stack: Stack) -> int:
        most = self.options.max_nested_stack_depth
        return most if most >= 0 else _MOST_LEVELS

    def _now(self, stack: Stack, rows: Sequence[Resource]) -> PreviewContext:
        given = self.services
        return PreviewContext(
            stack, rows, given.registry, given.clock(), given.ids, given.limits, given.functions
        )


def _options(request: ApiRequest) -> tuple[bool, bool]:
    """Whether the plan is asked for, and whether what is below."""
    query = QueryParams(request.GET)
    nested = bool(query.boolean("show_nested"))
    detail = query.last("detail")
    if detail not in (None, "plan"):
        raise InvalidRequestValue(f'"detail" must be "plan", not "{detail}".')
    return detail == "plan", nested


def _plan(foreseen: Sequence[ResourceChange], detailed: bool) -> dict[str, Json]:
    if not detailed:
        return {}
    users = view.required_by_names(foreseen)
    changing = (each for each in foreseen if each.change_kind is not ChangeKind.UNCHANGED)
    return {"plan": [view.format_planned_change(each, users[each.name]) for each in changing]}
