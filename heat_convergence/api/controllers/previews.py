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
from heat_convergence.api.foresight_below import Below, Level, Seer, Tree, read_tree
from heat_convergence.api.goals import Draft, Goals
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
_MOST_LEVELS = 100  # where there is no limit


class PreviewsController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = Goals(services)
        self._sources = self._goals.sources

    def create(self, request: ApiRequest) -> webob.Response:
        detailed, _nested = _options(request)
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
        now = self._now(stack, ())
        foreseen = foresee(now, draft.evaluated, draft.wanted)
        below = self._below(now, draft, foreseen, Tree())
        shown = stack_view.shown(
            stack,
            request.base_url,
            description=draft.goal.description,
            parameters=draft.goal.parameters,
        )
        shown["resources"] = view.tree(stack, foreseen, below)
        return json_answer({"stack": shown} | _plan(foreseen, detailed))

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, Use.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        return self._update(request, stack_name, stack_id, Use.PATCH)

    def _update(
        self, request: ApiRequest, name: str, stack_id: str, use: Use
    ) -> webob.Response:
        detailed, nested = _options(request)
        body = stack_body(request.document, use)
        with self.database.read() as conn:
            stack = live_stack(conn, request, name, stack_id)
            before = self._goals.replaced(conn, stack, use)
            rows = resources.whole(conn, stack.id)
            tree = read_tree(conn, stack, self._levels(stack)) if nested else Tree()
        quotas.check_updatable(stack)
        source = self._sources.changing(body, use, before)
        forbidden = self._enforcer.forbidden_to(request)
        draft = self._goals.draft(source, stack, forbidden, before=before)
        now = self._now(stack, rows)
        foreseen = foresee(now, draft.evaluated, draft.wanted)
        below = self._below(now, draft, foreseen, tree) if nested else ()
        changes = view.changes(stack, foreseen, below)
        return json_answer({"resource_changes": changes} | _plan(foreseen, detailed))

    def _below(
        self, now: Now, draft: Draft, foreseen: Sequence[Foreseen], tree: Tree
    ) -> Sequence[Below]:
        seer = Seer(
            now,
            tree,
            self._goals.parsed,
            self.options.max_nested_stack_depth,
            self.options.region,
        )
        level = Level(now.stack, draft.environment, draft.files, draft.wanted, foreseen)
        return seer.below(level)

    def _levels(self, stack: Stack) -> int:
        most = self.options.max_nested_stack_depth
        return most if most >= 0 else _MOST_LEVELS

    def _now(self, stack: Stack, rows: Sequence[Resource]) -> Now:
        given = self.given
        return Now(
            stack, rows, given.registry, given.clock(), given.ids, given.limits, given.functions
        )


def _options(request: ApiRequest) -> tuple[bool, bool]:
    """Whether the plan is asked for, and whether what is below."""
    query = Query(request.GET)
    nested = bool(query.boolean("show_nested"))
    detail = query.one("detail")
    if detail not in (None, "plan"):
        raise MalformedValue(f'"detail" must be "plan", not "{detail}".')
    return detail == "plan", nested


def _plan(foreseen: Sequence[Foreseen], detailed: bool) -> dict[str, Json]:
    if not detailed:
        return {}
    users = view.users(foreseen)
    changing = (each for each in foreseen if each.fate is not Fate.UNCHANGED)
    return {"plan": [view.change(each, users[each.name]) for each in changing]}
