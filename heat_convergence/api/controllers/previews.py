"""Previews: what a create or an update would do.  Writes nothing.

Called by the root controller.  ``?detail=plan`` adds the difference of every
property to the lists that clients know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller, live_stack
from heat_convergence.api.controllers.changes import new_stack
from heat_convergence.api.foresight import Fate, Foreseen, Now, foresee
from heat_convergence.api.goals import Goals
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.adopt import adopting
from heat_convergence.api.requests.stack import Use, stack_body
from heat_convergence.api.requests.words import MalformedValue, Query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.sources import refuse_list
from heat_convergence.api.views import previews as view
from heat_convergence.api.views import stacks as stack_view
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.convergence.model import Resource, Stack
from heat_convergence.db.reads import resources

Json = Any


class PreviewsController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = Goals(services)
        self._sources = self._goals.sources

    def create(self, request: ApiRequest) -> webob.Response:
        detailed = _detailed(request)
        body = stack_body(request.document, Use.PREVIEW)
        enabled = self.options.enable_stack_adopt
        body, _given = adopting(body, self.given.limits, enabled=enabled)
        stack = new_stack(request, body, self.given)
        source = self._sources.given(body, section_error=None)
        refuse_list(source)
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, request.caller, self.options)
        self._goals.check_new(source, stack)
        draft = self._goals.draft(source, stack, self._enforcer.forbidden_to(request))
        foreseen = foresee(self._now(stack, ()), draft.evaluated, draft.wanted)
        users = view.users(foreseen)
        shown = stack_view.shown(
            stack,
            request.base_url,
            description=draft.goal.description,
            parameters=draft.goal.parameters,
        )
        shown["resources"] = [view.raw(each, stack, users[each.name]) for each in foreseen]
        return json_answer({"stack": shown} | _plan(foreseen, detailed))

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, Use.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, Use.PATCH)

    def _update(
        self, request: ApiRequest, name: str, stack_id: str, use: Use
    ) -> webob.Response:
        detailed = _detailed(request)
        body = stack_body(request.document, use)
        with self.database.read() as conn:
            stack = live_stack(conn, request, name, stack_id)
            before = self._goals.replaced(conn, stack, use)
            rows = resources.whole(conn, stack.id)
        quotas.check_updatable(stack)
        source = self._sources.changing(body, use, before)
        forbidden = self._enforcer.forbidden_to(request)
        draft = self._goals.draft(source, stack, forbidden, before=before)
        foreseen = foresee(self._now(stack, rows), draft.evaluated, draft.wanted)
        users = view.users(foreseen)
        changes: dict[str, list[Json]] = {str(fate): [] for fate in Fate}
        for each in foreseen:
            changes[each.fate].append(view.raw(each, stack, users[each.name]))
        return json_answer({"resource_changes": changes} | _plan(foreseen, detailed))

    def _now(self, stack: Stack, rows: Sequence[Resource]) -> Now:
        given = self.given
        return Now(
            stack, rows, given.registry, given.clock(), given.ids, given.limits, given.functions
        )


def _detailed(request: ApiRequest) -> bool:
    query = Query(request.GET)
    query.boolean("show_nested")
    detail = query.one("detail")
    if detail not in (None, "plan"):
        raise MalformedValue(f'"detail" must be "plan", not "{detail}".')
    return detail == "plan"


def _plan(foreseen: Sequence[Foreseen], detailed: bool) -> dict[str, Json]:
    if not detailed:
        return {}
    users = view.users(foreseen)
    changing = (each for each in foreseen if each.fate is not Fate.UNCHANGED)
    return {"plan": [view.change(each, users[each.name]) for each in changing]}
