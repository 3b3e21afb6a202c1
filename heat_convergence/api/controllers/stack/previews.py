"""Previews: the changes that a create or an update would make.

Called by the root controller.  ``?detail=plan`` adds the difference of every property to
the lists that clients know.  Must not write anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, get_undeleted_stack
from heat_convergence.api.controllers.stack.stack_writes import (
    load_replaced_goal,
    source_of_update,
    stack_from_body,
    stack_values_of_update,
    with_new_timeout,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.adopt_stack_data import merge_adopt_stack_data
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, parse_stack_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import previews as view
from heat_convergence.api.views import stacks as stack_view
from heat_convergence.common.errors import InvalidRequestValue
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.db.reads import resources, stacks
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.stacks.nested_preview import (
    NO_STACK_ID,
    StackTree,
    preview_nested_changes,
    read_stack_tree,
)
from heat_convergence.stacks.preview import (
    PreviewContext,
    ResourceChange,
    preview_changes,
)
from heat_convergence.stacks.reads.goal_view import OutputResolver
from heat_convergence.stacks.source.template_source import reject_resource_list

Json = Any


class PreviewsController(Controller):
    """The handlers of ``…/preview``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)

    def create(self, request: ApiRequest) -> webob.Response:
        """Show the stack that a create would make."""
        detailed, _nested = _options(request)
        body = parse_stack_body(request.json_object, BodyPurpose.PREVIEW)
        enabled = self.options.enable_stack_adopt
        body, _adopted = merge_adopt_stack_data(body, self.services.limits, enabled=enabled)
        stack = replace(stack_from_body(request, body, self.services), id=NO_STACK_ID)
        source = self._builder.sources.from_request(body, section_error=None)
        reject_resource_list(source)
        with self.database.read() as conn:
            quotas.check_new_stack(
                conn, stack, self.options, unlimited=request.caller.is_cloud_admin
            )
        prepared = self._builder.prepare_new(
            source, stack, self._enforcer.type_forbidden_for(request)
        )
        context = self._context(stack, ())
        changes = preview_changes(context, prepared.evaluated, prepared.desired_resources)
        nested_changes = preview_nested_changes(context, prepared, changes, StackTree())
        shown = stack_view.format_stack(
            stack,
            request.base_url,
            description=prepared.goal.description,
            parameters=prepared.goal.parameters,
        )
        outputs = OutputResolver(stack, {}, self.services)
        shown["outputs"] = outputs.resolve_before_creation(
            prepared.goal, prepared.desired_resources
        )
        shown["resources"] = view.format_stack_preview(stack, changes, nested_changes)
        return json_response({"stack": shown} | _plan(changes, detailed))

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the changes that a PUT would make."""
        return self._update(request, stack_name, stack_id, BodyPurpose.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the changes that a PATCH would make."""
        return self._update(request, stack_name, stack_id, BodyPurpose.PATCH)

    def _update(
        self, request: ApiRequest, name: str, stack_id: str, purpose: BodyPurpose
    ) -> webob.Response:
        detailed, nested = _options(request)
        body = parse_stack_body(request.json_object, purpose)
        max_depth = self.options.max_nested_stack_depth
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            replaced_goal = load_replaced_goal(self._builder, conn, stack, purpose)
            rows = resources.list_full(conn, stack.id)
            tree = read_stack_tree(conn, stack, max_depth) if nested else StackTree()
            known = tree.stacks or {
                each.id: each for each in stacks.list_children(conn, [stack.id]).values()
            }
        quotas.check_updatable(stack)
        source = source_of_update(self._builder.sources, body, purpose, replaced_goal)
        forbidden = self._enforcer.type_forbidden_for(request)
        timed = with_new_timeout(stack, stack_values_of_update(body, purpose))
        prepared = self._builder.prepare_update(
            source, timed, forbidden, UpdateBase(replaced_goal, lambda _names: rows)
        )
        context = self._context(stack, rows)
        changes = preview_changes(context, prepared.evaluated, prepared.desired_resources)
        nested_changes = preview_nested_changes(context, prepared, changes, tree) if nested else ()
        shown = view.format_resource_changes(stack, changes, nested_changes, known)
        return json_response({"resource_changes": shown} | _plan(changes, detailed))

    def _context(self, stack: Stack, rows: Sequence[Resource]) -> PreviewContext:
        services = self.services
        return PreviewContext(
            stack, rows, self._builder.goal_builder, services.clock(), services.ids
        )


def _options(request: ApiRequest) -> tuple[bool, bool]:
    """Return whether the query asks for the plan, and whether for nested stacks."""
    query = QueryParams(request.GET)
    nested = bool(query.boolean("show_nested"))
    detail = query.last("detail")
    if detail not in (None, "plan"):
        raise InvalidRequestValue(f'"detail" must be "plan", not "{detail}".')
    return detail == "plan", nested


def _plan(changes: Sequence[ResourceChange], detailed: bool) -> dict[str, Json]:
    if not detailed:
        return {}
    required_by = view.required_by_names(changes)
    changing = (each for each in changes if each.change_kind is not ChangeKind.UNCHANGED)
    return {
        "plan": [view.format_planned_change(each, required_by[each.name]) for each in changing]
    }
