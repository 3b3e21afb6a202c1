"""A stack as a document: exported, or abandoned with it, for another to adopt.

Called by the root controller.  Both only where the operator allows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence import commands
from heat_convergence.convergence.document import Secrets, as_written, document
from heat_convergence.convergence.model import Input, Resource, Stack
from heat_convergence.convergence.traversal import Means
from heat_convergence.db.store import SqlTransaction
from heat_convergence.resources.views import RowInputs
from heat_convergence.template.evaluate import finish
from heat_convergence.template.uses import references

Json = Any


class HandoverController(Controller):
    def export(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            reader = SqlTransaction(conn)
            below = reader.stacks_below(stack.tree_id)
            shown, _sensitive = document(
                reader, stack, Secrets.SHOWN, below, finish=self._finish
            )
        return json_answer(shown)

    def abandon(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
        means = Means(self.given.clock(), self.given.ids, self.given.settings)
        shown = in_transaction(
            self.given, lambda tx: commands.abandon(tx, stack.id, means, finish=self._finish)
        )
        return json_answer(shown)

    def _finish(self, stack: Stack, value: Json, named: Mapping[str, Resource]) -> Json:
        given = self.given
        names = references(value, given.functions) & named.keys()
        rows = {name: Input.of(named[name]) for name in names}
        inputs = RowInputs(rows, stack, given.registry, given.clock())
        try:
            return finish(value, inputs, limits=given.limits, functions=given.functions)
        except errors.Error:  # told of the resource when its turn came
            return as_written(stack, value, named)

    def _refuse_disabled(self) -> None:
        if not self.options.enable_stack_abandon:
            raise errors.NotSupported("Stack Abandon is not enabled (enable_stack_abandon).")
