"""Snapshots of a stack: take one, look at them, go back to one, delete one.

Called by the root controller.  What each resource saves is its type's affair; a
restore is an update to the template and values of then.
"""

from __future__ import annotations

from dataclasses import replace

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, empty_response, json_response, text_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.actions import parse_snapshot_name
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import renew_delegation, renew_delegation_if_possible
from heat_convergence.api.views import snapshots as view
from heat_convergence.convergence.lifecycle import stack_actions, traversal
from heat_convergence.convergence.lifecycle.traversal import StartedTraversal
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.repositories.snapshots import SqlSnapshotRepository
from heat_convergence.stacks import quotas
from heat_convergence.stacks import snapshot_data as saving
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder


class SnapshotsController(Controller):
    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)

    def create(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        name = parse_snapshot_name(request.require_json_object())
        stack = self._stack(request, stack_name, stack_id)
        renew_delegation(self.services, request, stack)
        max_snapshots = quotas.max_snapshots(self.options, unlimited=request.caller.is_cloud_admin)
        begun, saved = run_in_transaction(
            self.services,
            lambda tx: stack_actions.take_snapshot(
                tx, stack.id, name, self.traversal_context(), max_snapshots=max_snapshots
            ),
        )
        traversal.send_first_messages(self.services.bus, begun, self.services.settings)
        return json_response(view.format_snapshot(saved))

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            found = SqlSnapshotRepository(conn).list_by_stack(stack.id)
        return json_response({"snapshots": [view.format_snapshot(saved) for saved in found]})

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            saved = SqlSnapshotRepository(conn).get(stack.id, snapshot_id)
        return json_response(
            {
                "snapshot": view.format_snapshot(
                    stack_actions.require_snapshot(saved, stack.id, snapshot_id)
                )
            }
        )

    def delete(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            saved = SqlSnapshotRepository(conn).get(stack.id, snapshot_id)
        saved = stack_actions.require_snapshot(saved, stack.id, snapshot_id)
        at_once = not saving.deletable_entries(saved, self.services.registry)
        renew_delegation_if_possible(self.services, request, stack)
        run_in_transaction(
            self.services,
            lambda tx: stack_actions.delete_snapshot(
                tx, stack.id, snapshot_id, self.traversal_context(), immediately=at_once
            ),
        )
        return empty_response()

    def restore(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        stack = self._stack(request, stack_name, stack_id)
        draft = self._draft(request, stack, snapshot_id)
        renew_delegation(self.services, request, stack)
        begun = run_in_transaction(
            self.services, lambda tx: self._restore(tx, stack, snapshot_id, draft)
        )
        traversal.send_first_messages(self.services.bus, begun, self.services.settings)
        return text_response(202)

    def _draft(self, request: ApiRequest, stack: Stack, snapshot_id: str) -> PreparedStack:
        with self.services.store.transaction() as tx:
            saved = stack_actions.get_restorable_snapshot(tx, stack.id, snapshot_id)
        then = replace(stack, goal_id=saved.goal_id)
        with self.database.read() as conn:
            stored = self._builder.load_goal(conn, then)
        source = self._builder.source_from_snapshot(stored, saved)
        now = replace(stack, goal_id=self.services.ids())
        return self._builder.prepare_update(
            source, now, self._enforcer.type_forbidden_for(request)
        )

    def _restore(
        self, tx: Transaction, stack: Stack, snapshot_id: str, draft: PreparedStack
    ) -> StartedTraversal:
        tx.contents.put(draft.contents)
        stack_actions.get_restorable_snapshot(tx, stack.id, snapshot_id)
        return traversal.start_traversal(
            tx,
            stack_id=stack.id,
            action=Action.RESTORE,
            context=self.traversal_context(),
            goal=draft.goal,
            desired_resources=draft.desired_resources,
        )

    def _stack(self, request: ApiRequest, name: str, stack_id: str) -> Stack:
        with self.database.read() as conn:
            return get_undeleted_stack(conn, request, name, stack_id)
