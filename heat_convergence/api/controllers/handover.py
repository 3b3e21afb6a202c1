"""A stack as a document: exported, or abandoned with it, for another to adopt.

Called by the root controller.  Both only where the operator allows them.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence import commands
from heat_convergence.convergence.document import Secrets, document
from heat_convergence.convergence.traversal import Means
from heat_convergence.db.store import SqlTransaction


class HandoverController(Controller):
    def export(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            reader = SqlTransaction(conn)
            below = reader.stacks_below(stack.tree_id)
            shown, _sensitive = document(reader, stack, Secrets.SHOWN, below)
        return json_answer(shown)

    def abandon(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
        means = Means(self.given.clock(), self.given.ids, self.given.settings)
        shown = in_transaction(self.given, lambda tx: commands.abandon(tx, stack.id, means))
        return json_answer(shown)

    def _refuse_disabled(self) -> None:
        if not self.options.enable_stack_abandon:
            raise errors.NotSupported("Stack Abandon is not enabled (enable_stack_abandon).")
