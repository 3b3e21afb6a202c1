"""Actions on a stack: suspend, resume, check, and the two ways to cancel.

Called by the root controller.  Decides in which states an action is refused or
already done; what it does is a traversal's affair.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.delegating import renewed
from heat_convergence.api.goals import Goals
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.action import action_name
from heat_convergence.api.services import ApiServices
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence import ending, rollback, traversal
from heat_convergence.convergence.model import Action, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Begun, Means

_VERBS = {"suspend": Action.SUSPEND, "resume": Action.RESUME, "check": Action.CHECK}
_CANCELLED = "Stack {} cancelled by the user"


class ActionsController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._goals = Goals(services)

    def act(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        name = action_name(request.required_document())
        self._enforcer.check(request, f"actions:{name}")
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
        renewed(self.given, request, stack)
        if name in _VERBS:
            self._verb(stack, _VERBS[name])
        elif name == "cancel_update":
            self._post(in_transaction(self.given, lambda tx: self._cancel_update(tx, stack.id)))
        else:
            self._post(in_transaction(self.given, lambda tx: self._stop(tx, stack.id)))
        return json_answer(None)

    def _verb(self, stack: Stack, action: Action) -> None:
        done = stack.action is action and stack.status is Status.COMPLETE
        if done and action is not Action.CHECK:
            return
        means = self._means()
        self._post(
            in_transaction(
                self.given,
                lambda tx: traversal.start(tx, stack_id=stack.id, action=action, means=means),
            )
        )

    def _cancel_update(self, tx: Transaction, stack_id: str) -> Begun:
        """Back to the last goal that was reached."""
        stack = _in_progress(tx, stack_id, "cancel_update", Action.UPDATE)
        reason = _CANCELLED.format(stack.action)
        advanced = rollback.begin(tx, stack, reason, self._means(), self._goals.rebuild)
        return Begun(advanced.stack or stack, advanced.postings)

    def _stop(self, tx: Transaction, stack_id: str) -> Begun:
        """What is under way is given up where it is."""
        stack = _in_progress(
            tx, stack_id, "cancel_without_rollback", Action.UPDATE, Action.CREATE
        )
        reason = _CANCELLED.format(stack.action)
        told = ending.fail(tx, stack, reason, self.given.clock(), self.given.ids)
        return Begun(stack, told)

    def _means(self) -> Means:
        return Means(self.given.clock(), self.given.ids, self.given.settings)

    def _post(self, begun: Begun) -> None:
        traversal.post(self.given.bus, begun, self.given.settings)


def _in_progress(tx: Transaction, stack_id: str, name: str, *actions: Action) -> Stack:
    stack = tx.lock_stack(stack_id)
    if stack is None:
        raise errors.EntityNotFound("Stack", stack_id)
    if stack.action not in actions or not stack.in_progress:
        allowed = " or ".join(f"{action}_IN_PROGRESS" for action in actions)
        raise errors.NotSupported(
            f"{name} is for a stack in {allowed}; this one is"
            f" {stack.action}_{stack.status}."
        )
    return stack
