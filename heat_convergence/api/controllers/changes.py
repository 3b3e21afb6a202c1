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
from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.delegating import granted, renewed, renewed_if_possible
from heat_convergence.api.goals import Draft, Goals
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.adopt import Given, adopting
from heat_convergence.api.requests.stack import StackBody, Use, stack_body
from heat_convergence.api.requests.words import Query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import stacks as view
from heat_convergence.api.views.links import stack_url
from heat_convergence.api.wire import ApiRequest, empty_answer, json_answer, text_answer
from heat_convergence.convergence import commands, traversal
from heat_convergence.convergence.model import ADOPTED, Action, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Begun, Handed, Means
from heat_convergence.convergence.wanted import Reality


class ChangesController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = Goals(services)
        self._sources = self._goals.sources

    def create(self, request: ApiRequest) -> webob.Response:
        body = stack_body(request.document, Use.CREATE)
        enabled = self.options.enable_stack_adopt
        body, given = adopting(body, self.given.limits, enabled=enabled)
        stack = new_stack(request, body, self.given)
        if given is not None:
            stack = replace(stack, action=Action.ADOPT)
        source = self._sources.given(body, section_error=None)
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, request.caller, self.options)
        self._goals.check_new(source, stack)
        draft = self._goals.draft(source, stack, self._enforcer.forbidden_to(request))
        with granted(self.given, request, stack):
            handed = None if given is None else self._handed(given, draft)
            begun = in_transaction(self.given, lambda tx: self._begin(tx, stack, draft, handed))
        traversal.post(self.given.bus, begun, self.given.settings)
        answer = json_answer(view.created(stack, request.base_url), 201)
        answer.location = stack_url(request.base_url, stack)
        return answer

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        body = stack_body(request.document, Use.UPDATE)
        return self._change(request, stack_name, stack_id, body, Use.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        body = stack_body(request.document, Use.PATCH)
        rule = "stacks:update_no_change" if body.changes_nothing else "stacks:update_patch"
        self._enforcer.check(request, rule)
        return self._change(request, stack_name, stack_id, body, Use.PATCH)

    def delete(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        skip = Query(request.GET).all("skip")
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
        renewed_if_possible(self.given, request, stack)
        means = self._means()
        begun = in_transaction(
            self.given, lambda tx: commands.delete(tx, stack.id, skip, means)
        )
        traversal.post(self.given.bus, begun, self.given.settings)
        return empty_answer()

    def _begin(
        self,
        tx: Transaction,
        stack: Stack,
        draft: Draft,
        handed: Mapping[str, Handed] | None,
    ) -> Begun:
        tx.put_contents(draft.contents)
        return traversal.create(
            tx,
            stack=stack,
            goal=draft.goal,
            wanted=draft.wanted,
            means=self._means(),
            handed=handed,
        )

    def _handed(self, given: Mapping[str, Given], draft: Draft) -> dict[str, Handed]:
        """What the new stack takes over; of types that keep secrets, sealed."""
        handed = {}
        for name in given.keys() & draft.wanted.keys():
            kind = self.given.registry.find(draft.wanted[name].implementation)
            secret = ADOPTED in given[name].data or (kind is not None and bool(kind.secret_data))
            handed[name] = Handed(
                given[name].physical_id, given[name].data, secret, given[name].paused
            )
        return handed

    def _change(
        self, request: ApiRequest, name: str, stack_id: str, body: StackBody, use: Use
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = live_stack(conn, request, name, stack_id)
            before = self._goals.replaced(conn, stack, use)
        quotas.check_updatable(stack)
        source = self._sources.changing(body, use, before)
        forbidden = self._enforcer.forbidden_to(request)
        then = replace(stack, goal_id=self.given.ids())
        draft = self._goals.draft(source, then, forbidden, before=before)
        renewed(self.given, request, stack)
        looks = body.converge or self.options.observe_on_update
        reality = Reality.OBSERVED if looks else Reality.RECORDED
        begun = in_transaction(
            self.given, lambda tx: self._update(tx, stack, draft, _columns(body, use), reality)
        )
        traversal.post(self.given.bus, begun, self.given.settings)
        return text_answer(202)

    def _update(
        self,
        tx: Transaction,
        stack: Stack,
        draft: Draft,
        values: Mapping[str, Any],
        reality: Reality,
    ) -> Begun:
        tx.put_contents(draft.contents)
        return traversal.start(
            tx,
            stack_id=stack.id,
            action=Action.UPDATE,
            means=self._means(),
            goal=draft.goal,
            wanted=draft.wanted,
            values=values,
            reality=reality,
        )

    def _means(self) -> Means:
        return Means(self.given.clock(), self.given.ids, self.given.settings)


def new_stack(request: ApiRequest, body: StackBody, services: ApiServices) -> Stack:
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


def _columns(body: StackBody, use: Use) -> dict[str, Any]:
    """What an update sets beside the goal; absent fields stay as they are, but PUT
    without tags takes them away."""
    values: dict[str, Any] = {}
    if body.timeout_mins is not None:
        values["timeout_mins"] = body.timeout_mins
    if body.disable_rollback is not None:
        values["disable_rollback"] = body.disable_rollback
    if body.tags is not None or use is Use.UPDATE:
        values["tags"] = body.tags or ()
    return values
