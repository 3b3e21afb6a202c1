"""Snapshots of a stack: take, show, restore and delete them.

Called by the root controller.  Resource types decide what each resource saves; a restore
is an update to the template and values of the snapshot.
"""

from __future__ import annotations

from dataclasses import replace

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
    send_started,
)
from heat_convergence.api.http import ApiRequest, empty_response, json_response, status_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.actions import parse_snapshot_name
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import renew_delegation, renew_delegation_if_possible
from heat_convergence.api.views import snapshots as view
from heat_convergence.convergence.lifecycle import stack_actions, traversal
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.repositories.snapshots import SqlSnapshotRepository
from heat_convergence.stacks import quotas, snapshot_data
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder


class SnapshotsController(Controller):
    """The handlers of ``…/snapshots``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)

    def create(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Take a snapshot."""
        name = parse_snapshot_name(request.require_json_object())
        stack = self._stack(request, stack_name, stack_id)
        self.services.lifecycle.before_operation(stack, Action.SNAPSHOT)
        renew_delegation(self.services, request, stack)
        max_snapshots = quotas.max_snapshots(self.options, unlimited=request.caller.is_cloud_admin)
        started, snapshot = run_in_transaction(
            self.services,
            lambda tx: stack_actions.take_snapshot(
                tx, stack.id, name, self.traversal_context(), max_snapshots=max_snapshots
            ),
        )
        send_started(self.services, started)
        return json_response(self._format(snapshot))

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """List the snapshots of a stack."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            found = SqlSnapshotRepository(conn).list_by_stack(stack.id)
        return json_response({"snapshots": [self._format(each) for each in found]})

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        """Show a snapshot with its document."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            snapshot = SqlSnapshotRepository(conn).get(stack.id, snapshot_id)
        found = stack_actions.require_snapshot(snapshot, stack.id, snapshot_id)
        return json_response({"snapshot": self._format(found)})

    def delete(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        """Delete a snapshot and what resources saved for it."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            snapshot = SqlSnapshotRepository(conn).get(stack.id, snapshot_id)
        snapshot = stack_actions.require_snapshot(snapshot, stack.id, snapshot_id)
        registry = self.services.registry
        immediately = not (
            snapshot_data.deletable_entries(snapshot, registry)
            or snapshot_data.find_missing_type(snapshot, registry)
        )
        renew_delegation_if_possible(self.services, request, stack)
        run_in_transaction(
            self.services,
            lambda tx: stack_actions.delete_snapshot(
                tx, stack.id, snapshot_id, self.traversal_context(), immediately=immediately
            ),
        )
        return empty_response()

    def restore(
        self, request: ApiRequest, stack_name: str, stack_id: str, snapshot_id: str
    ) -> webob.Response:
        """Restore a snapshot."""
        stack = self._stack(request, stack_name, stack_id)
        prepared = self._prepare(request, stack, snapshot_id)
        self.services.lifecycle.before_operation(stack, Action.RESTORE)
        renew_delegation(self.services, request, stack)
        started = run_in_transaction(
            self.services, lambda tx: self._restore(tx, stack, snapshot_id, prepared)
        )
        send_started(self.services, started)
        return status_response(request, 202)

    def _prepare(self, request: ApiRequest, stack: Stack, snapshot_id: str) -> PreparedStack:
        with self.services.store.transaction() as tx:
            snapshot = stack_actions.get_restorable_snapshot(tx, stack.id, snapshot_id)
        earlier = replace(stack, goal_id=snapshot.goal_id)
        with self.database.read() as conn:
            stored = self._builder.load_goal(conn, earlier)
        source = self._builder.source_from_snapshot(stored, snapshot)
        now = replace(stack, goal_id=self.services.ids())
        return self._builder.prepare_update(
            source, now, self._enforcer.type_forbidden_for(request)
        )

    def _restore(
        self, tx: Transaction, stack: Stack, snapshot_id: str, prepared: PreparedStack
    ) -> StartedTraversal:
        stack_actions.get_restorable_snapshot(tx, stack.id, snapshot_id)
        started = traversal.start_traversal(
            tx,
            traversal.TraversalRequest(
                stack_id=stack.id,
                action=Action.RESTORE,
                goal=prepared.goal,
                desired_resources=prepared.desired_resources,
                contents=prepared.contents,
            ),
            self.traversal_context(),
        )
        quotas.check_updated_tree(tx, started, self.options)
        return started

    def _format(self, snapshot: Snapshot) -> dict[str, Json]:
        return view.format_snapshot(snapshot, self.services.registry, self.services.limits)

    def _stack(self, request: ApiRequest, name: str, stack_id: str) -> Stack:
        with self.database.read() as conn:
            return get_undeleted_stack(conn, request, name, stack_id)
