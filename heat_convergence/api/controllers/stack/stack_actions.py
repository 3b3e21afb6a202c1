"""Actions on a stack: suspend, resume, check, repair, and the two ways to cancel.

Called by the root controller.  Decides in which states an action is refused or
already done; ``convergence.lifecycle`` decides what it does.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    may_read_secrets,
    run_in_transaction,
    send_started,
)
from heat_convergence.api.controllers.stack import repair, repair_preview
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.actions import RepairBody, parse_action_name, parse_repair
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import renew_delegation
from heat_convergence.api.views.drift import format_repair_preview
from heat_convergence.convergence.lifecycle import stack_actions, traversal
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks.goal.stack_builder import StackBuilder

Json = Any
_VERBS = {"suspend": Action.SUSPEND, "resume": Action.RESUME, "check": Action.CHECK}


class StackActionsController(Controller):
    """The handler of ``…/actions``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)

    def action(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Suspend, resume, check or repair a stack, or cancel its update."""
        body = request.require_json_object()
        name = parse_action_name(body)
        self._enforcer.enforce(request, f"actions:{name}")
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        if name == "repair":
            return json_response(self._repair(request, stack, parse_repair(body[name])))
        if name in _VERBS:
            self.services.lifecycle.before_operation(stack, _VERBS[name])
        renew_delegation(self.services, request, stack)
        if name in _VERBS:
            self._verb(stack, _VERBS[name])
        else:
            self._cancel(stack, name)
        return json_response(None)

    def _repair(self, request: ApiRequest, stack: Stack, body: RepairBody) -> Json:
        """Repair the named resources, or all that have drifted; nothing if there are none.

        Returns:
            What a repair would do; None unless a dry run is requested.
        """
        with self.database.read() as conn:
            found = repair.load_repair(conn, self.services, self._builder, stack, body.resources)
            if body.dry_run:
                previewed = repair_preview.preview(conn, self.services, found, body.resources)
                shows_secrets = may_read_secrets(request, self._enforcer)
                return {"repair": format_repair_preview(stack, previewed, shows_secrets)}
        if not found.names:
            return None
        renew_delegation(self.services, request, stack)
        started = repair.start_repair(
            request,
            self.services,
            self._builder,
            self._enforcer,
            found,
            self.traversal_context(),
        )
        send_started(self.services, started)
        return None

    def _cancel(self, stack: Stack, name: str) -> None:
        context = self.traversal_context()

        def cancel(tx: Transaction) -> ProgressResult:
            if name == "cancel_update":
                return stack_actions.cancel_update(tx, stack.id, context, self._builder.rebuild)
            return stack_actions.cancel_without_rollback(tx, stack.id, context)

        progress = run_in_transaction(self.services, cancel)
        started = StartedTraversal(
            progress.stack or stack,
            progress.outgoing_messages,
            waits_for_bus=progress.waits_for_bus,
        )
        send_started(self.services, started)

    def _verb(self, stack: Stack, action: Action) -> None:
        done = stack.action is action and stack.status is Status.COMPLETE
        if done and action is not Action.CHECK:
            return
        context = self.traversal_context()
        started = run_in_transaction(
            self.services,
            lambda tx: traversal.start_traversal(
                tx, traversal.TraversalRequest(stack.id, action), context
            ),
        )
        send_started(self.services, started)
