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
from heat_convergence.convergence import commands, traversal
from heat_convergence.convergence.advance import Advanced
from heat_convergence.convergence.model import Action, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Begun, Means

_VERBS = {"suspend": Action.SUSPEND, "resume": Action.RESUME, "check": Action.CHECK}


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
        else:
            self._cancel(stack, name)
        return json_answer(None)

    def _cancel(self, stack: Stack, name: str) -> None:
        means = self._means()

        def cancel(tx: Transaction) -> Advanced:
            if name == "cancel_update":
                return commands.cancel_update(tx, stack.id, means, self._goals.rebuild)
            return commands.cancel_without_rollback(tx, stack.id, means)

        advanced = in_transaction(self.given, cancel)
        self._post(Begun(advanced.stack or stack, advanced.postings))

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

    def _means(self) -> Means:
        return Means(self.given.clock(), self.given.ids, self.given.settings)

    def _post(self, begun: Begun) -> None:
        traversal.post(self.given.bus, begun, self.given.settings)
