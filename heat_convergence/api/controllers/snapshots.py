"""Snapshots of a stack: take one, look at them, go back to one, delete one.

Called by the root controller.  What each resource saves is its type's affair; a
restore is an update to the template and values of then.
"""

from __future__ import annotations

from dataclasses import replace

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.delegating import renewed, renewed_if_possible
from heat_convergence.api.goals import Draft, Goals
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.action import snapshot_name
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import snapshots as view
from heat_convergence.api.wire import ApiRequest, empty_answer, json_answer, text_answer
from heat_convergence.convergence import commands, traversal
from heat_convergence.convergence.model import Action, Stack
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Begun, Means
from heat_convergence.db import snapshots
from heat_convergence.resources import saved as saving


class SnapshotsController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = Goals(services)

    def create(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        name = snapshot_name(request.required_document())
        stack = self._stack(request, stack_name, stack_id)
        renewed(self.given, request, stack)
        most = quotas.most_snapshots(request.caller, self.options)
        begun, saved = in_transaction(
            self.given,
            lambda tx: commands.snapshot(tx, stack.id, name, self._means(), most=most),
        )
        traversal.post(self.given.bus, begun, self.given.settings)
        return json_answer(view.item(saved))

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            found = snapshots.of_stack(conn, stack.id)
        return json_answer({"snapshots": [view.item(saved) for saved in found]})

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            saved = snapshots.get(conn, stack.id, snapshot_id)
        return json_answer({"snapshot": view.item(commands.found(saved, stack.id, snapshot_id))})

    def delete(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            saved = snapshots.get(conn, stack.id, snapshot_id)
        saved = commands.found(saved, stack.id, snapshot_id)
        at_once = not saving.kept(saved, self.given.registry)
        renewed_if_possible(self.given, request, stack)
        in_transaction(
            self.given,
            lambda tx: commands.delete_snapshot(
                tx, stack.id, snapshot_id, self._means(), at_once=at_once
            ),
        )
        return empty_answer()

    def restore(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        stack = self._stack(request, stack_name, stack_id)
        draft = self._draft(request, stack, snapshot_id)
        renewed(self.given, request, stack)
        begun = in_transaction(self.given, lambda tx: self._restore(tx, stack, snapshot_id, draft))
        traversal.post(self.given.bus, begun, self.given.settings)
        return text_answer(202)

    def _draft(self, request: ApiRequest, stack: Stack, snapshot_id: str) -> Draft:
        with self.given.store.transaction() as tx:
            saved = commands.restorable(tx, stack.id, snapshot_id)
        then = replace(stack, goal_id=saved.goal_id)
        with self.database.read() as conn:
            stored = self._goals.stored(conn, then)
        source = self._goals.restored(stored, saved)
        now = replace(stack, goal_id=self.given.ids())
        return self._goals.draft(source, now, self._enforcer.forbidden_to(request))

    def _restore(self, tx: Transaction, stack: Stack, snapshot_id: str, draft: Draft) -> Begun:
        tx.put_contents(draft.contents)
        commands.restorable(tx, stack.id, snapshot_id)
        return traversal.start(
            tx,
            stack_id=stack.id,
            action=Action.RESTORE,
            means=self._means(),
            goal=draft.goal,
            wanted=draft.wanted,
        )

    def _stack(self, request: ApiRequest, name: str, stack_id: str) -> Stack:
        with self.database.read() as conn:
            return live_stack(conn, request, name, stack_id)

    def _means(self) -> Means:
        return Means(self.given.clock(), self.given.ids, self.given.settings)
